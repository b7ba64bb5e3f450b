"""Objects in stores and on web servers: requests with retries, listings, parts read ahead, and a cache on disk."""
