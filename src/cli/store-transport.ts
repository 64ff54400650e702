/** The transport of a command to the store of a world, which this process has open. */
import { performAny } from "../operations/perform.ts";
import { ROWS } from "../operations/table.ts";
import { summaryOf } from "../operations/summary.ts";
import { outcomeForCaller } from "../operations/caller-outcome.ts";
import type { Row } from "../protocol/row.ts";
import { resolveRun, runGone } from "./commands/runs.ts";
import type { Opened } from "../compose/open.ts";
import { localContext } from "./perform.ts";
import type { Shell } from "./shell.ts";
import { follow } from "./terminal/follow.ts";
import type { StoreTransport } from "./transport.ts";

export function storeTransport(shell: Shell, opened: Opened): StoreTransport {
  const { world, settings } = opened;
  const { command } = settings;
  const now = (): number => world.clock.now();
  return {
    opened,
    command,
    now,
    perform: async (name, given, local = {}) => {
      const context = localContext(shell, opened, local);
      const outcome: { readonly kind: string; readonly row?: Row } = await performAny(ROWS[name], context, given);
      if (name === "purge" && outcome.kind === "purged" && outcome.row !== undefined) opened.finishRemoval(outcome.row);
      return outcomeForCaller(outcome, { now: now(), modelMs: world.limits.modelMs }) as never;
    },
    actor: async () => opened.operator ?? shell.user(),
    attendant: async () => opened.attendant(),
    resolve: (text, to) => resolveRun(world, { text, command, to }),
    gone: (run) => runGone(run, command("list")),
    summary: async (run) => {
      const row = await world.table.read(run, now());
      return row === null
        ? null
        : { ...summaryOf(row, { now: now(), modelMs: world.limits.modelMs }), isCancelled: row.cancel };
    },
    follow: ({ onLook, ...options }) =>
      follow(world, {
        lookEveryMs: opened.pollMs,
        ...options,
        onLook: (label) => onLook(label, opened.attendant() !== null),
      }),
  };
}
