"""Two runs that write to one place at the same time."""

import random
from collections.abc import Iterator

from tests.faults.commands import Command
from tests.faults.holds import amiss, drafts, lost, torn
from tests.faults.world import World

TOGETHER = (
    "Two runs write to the same place. One run pauses in the middle of its writing until the other run has ended. "
    "Afterwards, the place has the results of one of the two runs, or the second run says which process writes there."
)


def alone(command: Command) -> str:
    """Why two runs cannot meet."""
    return "" if command.results or command.ledger else "the command does not write a file"


def together(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """One run waits at a drawn moment of writing, from its first result on, until the other is over."""
    clean, draw = world.clean(command.name), random.Random(seed)
    writing = [one for one in clean.moments if one.write is not None]
    writing = [one.write for one in [one for one in writing if one.seconds > clean.seconds / 3] or writing]
    for write in draw.sample(writing, min(most, len(writing))):
        with world.trial(command) as folder:
            go = str(folder.parent / "go")
            first = world.request(command, folder, plan={"writing": {write: ["wait", go]}})
            words = [*command.words, *command.old]
            second = world.request(command, folder, words=words, plan={"over": go, "after": go + ".here"})
            ended = world.together([first, second])
            found = []
            for name, one in zip(("waiting", "other"), ended, strict=True):
                own = amiss(world, command, one, {command.clean, 2, 4}, whole=False)
                found += [f"{name}: {words}" for words in own]
            found += torn(world, command, folder) + lost(command, ended[0]) + drafts(world, command, folder)
            if all(one.code not in (command.clean, 4) for one in ended):
                found.append("neither run has a result")
            yield f"write {write}", found
