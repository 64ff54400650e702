/**
 * `cairn replay RUN|FILE`: folds the recorded events of a run again, and compares the result with the stored state.
 *
 * A file needs no store: an export of one world can be replayed anywhere. Exits 1 if a version differs, and with
 * `--against` if a model request would differ.
 */
import type { Agent } from "../../ports/agent.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { replayRecording } from "../../operations/replay.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import { wrongWithFile } from "../../features/archive/recording.ts";
import { KERNEL } from "../../features/compose.ts";
import type { Difference, Replayed } from "../../features/archive/replay.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { isFile, readExport, recordingFrom } from "../export-file.ts";
import { locateTyped } from "../../compose/locate.ts";
import { retyped, commandLine } from "../../render/words.ts";
import { refusedAs } from "../perform.ts";
import { renderReplay } from "../../render/replay.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { tellSteps } from "../progress.ts";
import { transportToReadRun } from "../choose-transport.ts";

export interface ReplayFlags extends StoreFlags {
  readonly at?: number;
  readonly against?: string;
}

interface Asked {
  /** A run ID or a file, as the user typed it. */
  readonly run: string;
  readonly flags: ReplayFlags;
}

export async function replayRun(shell: Shell, asked: Asked): Promise<number> {
  const { run, outcome, verify } = await (isFile(asked.run) ? replayedFile(shell, asked) : replayedRun(shell, asked));
  if (outcome.kind === "damaged") return tellDamaged(shell, { run, differs: outcome.differs, verify });
  if (outcome.kind === "versionUnknown") throw noSuchVersion(shell, { run, newest: outcome.of });
  if (outcome.kind === "unrecorded") throw nothingToCompare(shell, { run, replies: outcome.replies });
  const { shown } = outcome;
  if (shell.json) printDocument(shell, shown);
  else shell.terminal.out(renderReplay(shown, { paint: shell.terminal.paintOut }));
  return EXIT[OPERATIONS.replay.outcomes[outcome.kind].exit];
}

interface ReplayedRun {
  readonly run: string;
  readonly outcome: Exclude<OutcomeOf<"replay">, { readonly kind: "missing" | "agentUnknown" }>;
  /** The command that lists all damage, in the same place. */
  readonly verify: string;
}

/** The history in a file. Its states are compared with its facts as well. */
async function replayedFile(shell: Shell, asked: Asked): Promise<ReplayedRun> {
  const { at = null, against } = asked.flags;
  const agent = against === undefined ? null : await agentTyped(shell, { ...asked, name: against });
  const archive = readExport(shell, asked.run);
  const recording = recordingFrom(shell, { archive, file: asked.run });
  const check = ({ state }: Replayed): string | null => wrongWithFile(archive, state);
  const outcome = await replayRecording(KERNEL, recording, { at, against: agent, check });
  return { run: recording.run.run, outcome, verify: commandLine(["verify", asked.run]) };
}

async function replayedRun(shell: Shell, asked: Asked): Promise<ReplayedRun> {
  const { at = null, against = null, api } = asked.flags;
  const agent = against === null || api !== undefined ? null : await agentTyped(shell, { ...asked, name: against });
  const { transport, run } = await transportToReadRun(shell, asked);
  const onStep = tellSteps(shell, { now: transport.now, what: `reading ${run}` });
  const said = { run, at, against: agent?.name ?? against };
  const outcome = await transport.perform("replay", said, { onStep, agentOf: async () => agent });
  shell.terminal.waitFor(null);
  if (outcome.kind === "missing") throw transport.gone(run);
  if (outcome.kind !== "agentUnknown") return { run, outcome, verify: transport.command("verify", run) };
  const what = `there is no agent named ${JSON.stringify(against)}`;
  const next = transport.command("agents");
  throw refusedAs(OPERATIONS.replay, outcome.kind, { what, why: "the server has none", next });
}

async function agentTyped(shell: Shell, { name, flags }: Asked & { readonly name: string }): Promise<Agent> {
  registerResolution();
  const settings = await settingsOf(shell, flags);
  return (await locateTyped(shell, { name, settings })).agent;
}

function tellDamaged(
  shell: Shell,
  { run, differs, verify }: Pick<ReplayedRun, "run" | "verify"> & { readonly differs: Difference },
): number {
  if (shell.json) printDocument(shell, { run, identical: false, differs });
  else {
    const { paintOut } = shell.terminal;
    shell.terminal.out(paintOut("bold", run));
    shell.terminal.out(`${paintOut("red", "✖")} version ${differs.version} cannot be read: ${differs.what}`);
    shell.terminal.out(`to list all damage: ${paintOut("bold", verify)}`);
  }
  return EXIT.failed;
}

function noSuchVersion(shell: Shell, { run, newest }: { readonly run: string; readonly newest: number }): UserError {
  const what = `run ${run} has no such version`;
  const why = `its newest one is ${newest}`;
  return new UserError({
    code: "VersionUnknown",
    exit: EXIT.notFound,
    what,
    why,
    next: retyped(shell, "--at", String(newest)),
  });
}

function nothingToCompare(
  shell: Shell,
  { run, replies }: { readonly run: string; readonly replies: number },
): UserError {
  const what = `none of the ${replies} replies of run ${run} has a digest of its request`;
  const why = "none of them came from a request of its own, so there is nothing to compare";
  return new UserError({
    code: "RequestsUnrecorded",
    exit: EXIT.refused,
    what,
    why,
    next: commandLine(shell.argv.filter((word, index) => !isAgainst(word) && !isAgainst(shell.argv[index - 1] ?? ""))),
  });
}

const isAgainst = (word: string): boolean => word.startsWith("--against");
