/**
 * `cairn cancel RUN --compensate` and `cairn restart RUN`: what a run did is undone, newest first, before it ends or begins
 * again. A restart is the last resort, so what it costs is shown before anybody asks for it.
 */
import { usd } from "../../core/policy/spending.ts";
import { hasEnded } from "../../protocol/row.ts";
import { type Effects, askToUndo, effectsOf } from "../../operations/compensate.ts";
import { CliError, EXIT } from "../errors.ts";
import { type Opened, attendantOf, openExisting } from "../open.ts";
import { resolveRun, runGone } from "./runs.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { refuseSteering } from "./steer.ts";
import { commandLine, count } from "../render/words.ts";

export interface RestartFlags extends StoreFlags {
  readonly yes?: boolean;
}

export async function cancelAndUndo(
  shell: Shell,
  of: { readonly run: string; readonly flags: StoreFlags },
): Promise<number> {
  const { opened, run, effects } = await look(shell, of);
  await ask(shell, { opened, run, next: "cancel" });
  const says = [`${run} is to end once what it did is undone`, ...wordsOn(effects)];
  return report(shell, { opened, document: { run, want: "cancel", compensate: true, ...factsOf(effects) }, says });
}

export async function restartRun(
  shell: Shell,
  of: { readonly run: string; readonly flags: RestartFlags },
): Promise<number> {
  const { opened, run, effects, isOver } = await look(shell, of);
  // Nobody is asked to confirm what cannot be had.
  if (isOver) refuseSteering(opened, { run, outcome: "late", what: REFUSED.restart });
  if (of.flags.yes !== true) {
    throw new CliError({
      ...{ code: "NotConfirmed", exit: EXIT.usage, facts: factsOf(effects) },
      what: `a restart of ${run} throws away what it has found out`,
      why: wordsOn(effects).join("; "),
      next: `${commandLine(shell.argv)} --yes`,
    });
  }
  await ask(shell, { opened, run, next: "restart" });
  const says = [`${run} is to begin again once what it did is undone`, ...wordsOn(effects)];
  return report(shell, { opened, document: { run, want: "restart", ...factsOf(effects) }, says });
}

async function look(
  shell: Shell,
  of: { readonly run: string; readonly flags: StoreFlags },
): Promise<{ readonly opened: Opened; readonly run: string; readonly effects: Effects; readonly isOver: boolean }> {
  const opened = await openExisting(shell, of.flags);
  const { command } = opened.settings;
  const run = await resolveRun(opened.world, { text: of.run, command });
  const effects = await effectsOf(opened.world, run);
  const row = await opened.world.table.read(run, opened.world.clock.now());
  if (effects === null || row === null) throw runGone(run, command("list"));
  return { opened, run, effects, isOver: hasEnded(row) };
}

const REFUSED = {
  cancel: "cannot be cancelled any more",
  restart: "cannot begin again any more",
} as const;

async function ask(
  shell: Shell,
  of: { readonly opened: Opened; readonly run: string; readonly next: "cancel" | "restart" },
): Promise<void> {
  const { opened, run, next } = of;
  const outcome = await askToUndo(opened.world, { run, next, by: shell.user() });
  if (outcome === "notStarted") {
    const what = `run ${run} has not begun, so it cannot begin again`;
    const [why, next] = ["nobody has claimed it yet", opened.settings.command("work")];
    throw new CliError({ code: "NotStarted", exit: EXIT.refused, what, why, next });
  }
  if (outcome === "duplicate") {
    const what = `somebody asked for that before, and it is under way`;
    const next = opened.settings.command("timeline", run);
    throw new CliError({ code: "Duplicate", exit: EXIT.refused, what, why: "the first one counts", next });
  }
  refuseSteering(opened, { run, outcome, what: REFUSED[next] });
}

const factsOf = ({ spent, undoable, standing }: Effects) => ({
  ...{ beats: spent.beats, microUsd: spent.microUsd, undoable, standing },
});

/** What it costs, in words. */
function wordsOn({ spent, undoable, standing }: Effects): readonly string[] {
  const { microUsd, beats } = spent;
  return [
    `so far it took ${count(beats, "beat")} and $${usd(microUsd)}, and that stays spent`,
    undoable.length === 0
      ? "nothing is to be undone"
      : `to be undone, newest first: ${undoable.toReversed().join(", ")}`,
    ...(standing.length === 0 ? [] : [`nobody can undo these, and they may be done twice: ${standing.join(", ")}`]),
  ];
}

function report(
  shell: Shell,
  of: {
    readonly opened: Opened;
    readonly document: Readonly<Record<string, unknown>>;
    readonly says: readonly string[];
  },
): number {
  const { opened, document, says } = of;
  const supervisor = attendantOf(opened);
  if (shell.json) {
    printDocument(shell, { ...document, supervisor });
    return EXIT.done;
  }
  for (const line of says) shell.terminal.out(line);
  if (supervisor === null) shell.terminal.out(`nobody works on this store now: ${opened.settings.command("work")}`);
  return EXIT.done;
}
