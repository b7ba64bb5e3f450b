"""Hosts that show the editor: the app, the notebook widget, Panel pages, JupyterLab; and batches shown in a cell."""
