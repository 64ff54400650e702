/** `cairn backup FILE` and `cairn restore FILE`: the embedded store as one file, and a store from such a file. */
import { resolve } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { Damaged } from "../../ports/run-table.ts";
import { BackupRefused, type Backups } from "../../ports/backups.ts";
import type { World } from "../../ports/world.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { localContext } from "../perform.ts";
import { whatFollows } from "./restored.ts";
import { commandLine, count, grouped, retyped } from "../../render/words.ts";
import { sealKeysOf } from "../../compose/seal-keys.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";

interface Asked {
  readonly file: string;
  readonly flags: StoreFlags;
}

/** What the restored store has of runs that had not ended. */
interface Fenced {
  readonly runs: readonly string[];
  readonly damaged: readonly Damaged[];
}

export async function backUp(shell: Shell, { file: typed, flags }: Asked): Promise<number> {
  const settings = await settingsOf(shell, flags);
  const backups = backupsOf(settings);
  const { command, world } = settings;
  const file = resolve(shell.cwd, typed);
  if (!world.isThere()) {
    const what = `there is no store at ${world.place}`;
    const why = "only what exists can be backed up";
    throw new UserError({ code: "StoreMissing", exit: EXIT.store, what, why, next: command("start", "AGENT") });
  }
  const { terminal } = shell;
  const what = `backing up ${world.place}`;
  terminal.waitFor(what);
  const onShare = (share: number): void => terminal.waitFor(`${what}: ${Math.floor(share * 100)} %`);
  const { bytes } = await refusals(shell, { typed: "backup", command }, () => backups.take({ file, onShare }));
  terminal.waitFor(null);
  if (shell.json) printDocument(shell, { store: world.place, file, bytes });
  else {
    terminal.out(`${terminal.paintOut("bold", file)}  ${grouped(Math.ceil(bytes / 1024))} KB, checked`);
    terminal.out(
      "it holds tasks, messages and results: protect it like the store; seal keys and secrets are not in it",
    );
    terminal.out(`restore it: ${terminal.paintOut("bold", commandLine(["restore", file, "--store", "DIR"]))}`);
  }
  return EXIT.done;
}

export async function restore(shell: Shell, { file: typed, flags }: Asked): Promise<number> {
  const settings = await settingsOf(shell, flags);
  const backups = backupsOf(settings);
  const { world, provider, limits, command } = settings;
  const { terminal } = shell;
  const file = resolve(shell.cwd, typed);
  const sealKeys = await sealKeysOf(shell, provider);
  terminal.waitFor(`restoring ${file}`);
  let restored: Fenced = { runs: [], damaged: [] };
  const settle = async (opened: World): Promise<void> => {
    restored = await fenceAll(shell, opened);
  };
  await refusals(shell, { typed: "restore", command }, () =>
    backups.restore({ file, options: { limits, sealKeys }, settle }),
  );
  terminal.waitFor(null);
  const { runs, damaged } = restored;
  if (shell.json) {
    printDocument(shell, { file, store: world.place, runs, damaged });
    return EXIT.done;
  }
  terminal.out(`${terminal.paintOut("bold", world.place)} has the state of the backup`);
  terminal.out(`fenced, marked and paused ${count(runs.length, "run")} that had not ended when the backup was taken`);
  for (const run of runs) terminal.out(`  ${run}  ${command("show", run)}`);
  for (const { run, why } of damaged)
    terminal.out(`not fenced: ${run} is damaged (${why}); see ${command("verify", run)}`);
  for (const line of whatFollows(command)) terminal.out(line);
  return EXIT.done;
}

/**
 * Fences all runs. A run may be held by the lease of a beat that ran during the backup. Its request may still take
 * effect until that lease ends, so the restore waits for it.
 */
async function fenceAll(shell: Shell, world: World): Promise<Fenced> {
  for (;;) {
    const { restored } = await performOperation(
      OPERATIONS.restored,
      localContext(shell, { world, operator: null }),
      {},
    );
    const { runs, held, damaged } = restored;
    if (held.length === 0) return { runs, damaged };
    const until = Math.max(...held.map((each) => each.until));
    const seconds = Math.ceil((until - world.clock.now()) / 1_000);
    shell.terminal.waitFor(`waiting up to ${seconds} s: ${count(held.length, "run")} had a beat during the backup`);
    await elapse(Math.max(LOOK_MS, Math.min(until - world.clock.now(), PAUSE_MS)));
  }
}

const LOOK_MS = 50;
const PAUSE_MS = 1_000;

function backupsOf({ world, command }: Settings): Backups {
  if (world.backups !== null) return world.backups;
  throw new UserError({
    code: "Usage",
    exit: EXIT.usage,
    what: `${world.place} is not an embedded store`,
    why: "its tables and buckets have backups of their own: docs/deploy.md says how to restore them",
    next: command("restored"),
  });
}

/** Says for each refusal what to type, for the same store. */
async function refusals<T>(
  shell: Shell,
  { typed, command }: { readonly typed: "backup" | "restore"; readonly command: Settings["command"] },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BackupRefused)) throw error;
    const { code, message: what, why } = error;
    const next = {
      BeforeFirstRelease: () => command(typed, "ANOTHER_FILE"),
      OtherSchemas: () => command(typed, "ANOTHER_FILE"),
      BackupExists: () => command(typed, "ANOTHER_FILE"),
      BackupInvalid: () => command(typed, "ANOTHER_FILE"),
      BackupDamaged: () =>
        typed === "restore"
          ? command("restore", "AN_EARLIER_BACKUP")
          : commandLine(["restore", "AN_EARLIER_BACKUP", "--store", "ANOTHER_DIRECTORY"]),
      RestoreRefused: () => retyped(shell, "--store", "ANOTHER_DIRECTORY"),
    }[code]();
    throw new UserError({ code, exit: EXIT.refused, what, why, next }, { cause: error });
  } finally {
    shell.terminal.waitFor(null);
  }
}
