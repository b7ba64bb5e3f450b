"""The reader of pictures with COCO annotations."""
