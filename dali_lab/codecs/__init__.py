"""Pictures, sound and video from bytes and back, each behind one small interface; backends are imported on use."""
