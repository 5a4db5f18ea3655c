"""Moves notes and writes pages in journaled runs. An interrupted run is finished, and a whole run can be undone."""
