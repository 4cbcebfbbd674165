"""Claims: one owner at a time, whoever dies."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from saddle.study import claims


def aged(store, seconds):
    """Let the newest claim look that old."""
    file = max((store / "claims").glob("u.*.json"))
    past = time.time() - seconds
    os.utime(file, (past, past))


def elsewhere(store):
    """Let the newest claim be of a machine whose processes cannot be seen from here."""
    file = max((store / "claims").glob("u.*.json"))
    file.write_text(json.dumps({"host": "far", "pid": 1, "born": "1", "released": False}))


def test_a_unit_has_one_owner_until_it_is_released(tmp_path):
    claim = claims.take(tmp_path, "u")
    assert claim is not None
    assert claims.take(tmp_path, "u") is None
    assert claims.take(tmp_path, "u2") is not None  # another unit, whose name begins alike
    with claim:
        claim.check()
    again = claims.take(tmp_path, "u")
    assert again is not None
    with pytest.raises(claims.ClaimLost):
        claim.check()


def test_of_many_that_want_it_one_gets_it(tmp_path):
    claims.take(tmp_path, "u")
    elsewhere(tmp_path)
    aged(tmp_path, 1e4)  # all of them see a dead claim and go for it
    gate, won = threading.Barrier(8), []

    def want():
        gate.wait()
        won.append(claims.take(tmp_path, "u"))

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(claim is not None for claim in won) == 1


def test_a_unit_that_another_finishes_meanwhile_is_not_claimed(tmp_path):
    """Between a look at the unit and the claim, another takes it, finishes it and lets go: nothing
    is left to do.
    """
    done = []

    def another() -> bool:
        with claims.take(tmp_path, "u"):  # type: ignore[union-attr]
            done.append("u")
        return True

    assert claims.take(tmp_path, "u", wanted=another) is None
    assert claims.take(tmp_path, "u", wanted=lambda: not done) is None
    assert len(list((tmp_path / "claims").glob("u.*.json"))) == 1


def test_an_expired_lease_is_taken_over_and_the_sleeper_told(tmp_path):
    sleeper = claims.take(tmp_path, "u")
    elsewhere(tmp_path)
    assert sleeper is not None and claims.take(tmp_path, "u") is None
    aged(tmp_path, claims.LEASE + 1)
    heir = claims.take(tmp_path, "u")
    assert heir is not None
    with pytest.raises(claims.ClaimLost, match="taken over"):
        sleeper.check()
    with sleeper:  # its end does not release the heir's claim
        pass
    heir.check()
    assert claims.take(tmp_path, "u") is None


def test_a_dead_process_of_this_machine_is_noticed_at_once(tmp_path):
    code = (
        "import sys; from pathlib import Path; from saddle.study import claims; "
        "claims.take(Path(sys.argv[1]), 'u')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    holder = claims.look(tmp_path, "u")
    assert holder is not None and not holder.alive and not holder.released
    assert claims.take(tmp_path, "u") is not None


def test_an_owner_gives_signs_of_life(tmp_path):
    with claims.take(tmp_path, "u", lease=0.2) or pytest.fail("not taken"):
        aged(tmp_path, 1e4)
        until = time.monotonic() + 20
        while claims.look(tmp_path, "u").age > 1e3 and time.monotonic() < until:  # type: ignore[union-attr]
            time.sleep(0.02)
        holder = claims.look(tmp_path, "u", lease=60)
        assert holder is not None and holder.alive
