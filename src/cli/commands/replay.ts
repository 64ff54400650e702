/**
 * `cairn replay RUN|FILE`: folds the recorded events of a run again, and compares the result with the stored state.
 *
 * A file needs no store: an export of one world can be replayed anywhere. Exits 1 if a version differs, and with
 * `--against` if a model request would differ.
 */
import type { Agent } from "../../ports/agent.ts";
import { modelOf } from "../../providers/model.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import type { Archive } from "../../codec/archive.ts";
import { replayRecording } from "../../operations/replay.ts";
import { type Recording, RecordingDamaged, recordingIn, wrongWithFile } from "../../history/recording.ts";
import type { Difference, Replayed } from "../../history/replay.ts";
import { CliError, EXIT } from "../errors.ts";
import { isFile, readExport, recordingFrom } from "../export-file.ts";
import { retyped } from "../input.ts";
import { locateTyped } from "../locate.ts";
import { find, present } from "./show.ts";
import { renderReplay } from "../render/replay.ts";
import { settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { tellSteps } from "../render/steps.ts";
import { commandLine } from "../render/words.ts";

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
  const { at = null, against } = asked.flags;
  const agent = against === undefined ? null : await agentTyped(shell, { ...asked, name: against });
  const source = await read(shell, asked);
  if (source.kind === "damaged") return tellDamaged(shell, source);
  const { recording, archive } = source;
  const check = archive === null ? {} : { check: ({ state }: Replayed) => wrongWithFile(archive, state) };
  const outcome = await replayRecording(recording, { at, against: agent, ...check });
  if (outcome.kind === "versionUnknown") throw noSuchVersion(shell, recording);
  if (outcome.kind === "unrecorded") throw nothingToCompare(shell, { recording, replies: outcome.replies });
  const { shown } = outcome;
  const model = agent === null ? "" : modelOf(agent.model).name;
  const told = { ...shown, against: shown.against === null ? null : { ...shown.against, model } };
  if (shell.json) printDocument(shell, told);
  else shell.terminal.out(renderReplay(told, { paint: shell.terminal.paintOut }));
  return outcome.kind === "identical" ? EXIT.done : EXIT.failed;
}

type Source =
  | { readonly kind: "recording"; readonly recording: Recording; readonly archive: Archive | null }
  | { readonly kind: "damaged"; readonly run: string; readonly differs: Difference };

async function read(shell: Shell, asked: Asked): Promise<Source> {
  if (isFile(asked.run)) {
    const archive = readExport(shell, asked.run);
    return { kind: "recording", recording: recordingFrom(shell, { archive, file: asked.run }), archive };
  }
  const { opened, run } = await find(shell, asked);
  const onStep = tellSteps(shell, { clock: opened.world.clock, what: `reading ${run}` });
  try {
    const recording = present(opened, { run, found: await recordingIn(opened.world, { run, onStep }) });
    return { kind: "recording", recording, archive: null };
  } catch (error) {
    if (!(error instanceof RecordingDamaged)) throw error;
    return { kind: "damaged", run, differs: { version: error.version, what: error.message } };
  } finally {
    shell.terminal.waitFor(null);
  }
}

async function agentTyped(shell: Shell, { name, flags }: Asked & { readonly name: string }): Promise<Agent> {
  registerResolution();
  const settings = await settingsOf(shell, flags);
  return (await locateTyped(shell, { name, settings })).agent;
}

function tellDamaged(shell: Shell, { run, differs }: Extract<Source, { readonly kind: "damaged" }>): number {
  if (shell.json) printDocument(shell, { run, identical: false, differs });
  else {
    const { paintOut } = shell.terminal;
    shell.terminal.out(paintOut("bold", run));
    shell.terminal.out(`${paintOut("red", "✖")} version ${differs.version} cannot be read: ${differs.what}`);
    shell.terminal.out(`to list all damage: ${paintOut("bold", commandLine(["verify", run]))}`);
  }
  return EXIT.failed;
}

function noSuchVersion(shell: Shell, { run }: Recording): CliError {
  const what = `run ${run.run} has no such version`;
  const why = `its newest one is ${run.version}`;
  return new CliError({
    ...{ code: "VersionUnknown", exit: EXIT.notFound, what, why },
    next: retyped(shell, "--at", String(run.version)),
  });
}

function nothingToCompare(
  shell: Shell,
  { recording, replies }: { readonly recording: Recording; readonly replies: number },
): CliError {
  const what = `none of the ${replies} replies of run ${recording.run.run} has a digest of its request`;
  const why = "none of them came from a request of its own, so there is nothing to compare";
  return new CliError({
    ...{ code: "RequestsUnrecorded", exit: EXIT.refused, what, why },
    next: commandLine(shell.argv.filter((word, index) => !isAgainst(word) && !isAgainst(shell.argv[index - 1] ?? ""))),
  });
}

const isAgainst = (word: string): boolean => word.startsWith("--against");
