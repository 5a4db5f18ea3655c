"""What memory makes of itself: proposals of what to promote, demote and archive. You decide; all can be taken back."""
