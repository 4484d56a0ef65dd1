"""Side by side with the peers: what a call costs, in one run, interleaved. Run by ``make bench``; not part of the package."""
