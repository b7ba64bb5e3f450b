"""The studio: the session that an editor talks to, and the hosts that carry it (Panel app, notebook widget)."""
