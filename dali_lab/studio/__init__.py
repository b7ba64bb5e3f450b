"""The studio: the session that an editor talks to, and the hosts that carry it (app, notebook widget, Panel page)."""
