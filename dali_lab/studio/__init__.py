"""The studio: the session that an editor talks to, and the hosts that carry it (the app, the notebook widget, a Panel page)."""
