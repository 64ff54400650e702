/** The commands of `cairn`, in the order of its help: those of operations, as data, and those of this machine. */
import type { Command } from "commander";
import type { Into } from "./arguments.ts";
import { HANDLERS } from "./handlers.ts";
import { addBackups } from "./program-backups.ts";
import { addChecking } from "./program-checking.ts";
import { addProjects } from "./program-projects.ts";
import { addServing } from "./program-serving.ts";
import { type TypedCommand, addTyped } from "./typed-command.ts";

type Entry = string | ((program: Command, into: Into) => void);

/** A command of an operation that is not named here comes last below its heading. */
const HEADINGS: Readonly<Record<string, readonly Entry[]>> = {
  Projects: [addProjects],
  Runs: ["start", addServing],
  Steering: [
    "send",
    "approvals",
    "approve",
    "deny",
    "answer",
    "reconcile",
    "signal",
    "pause",
    "resume",
    "cancel",
    "restart",
    "fork",
    "redrive",
    "assign",
    "purge",
  ],
  Inspecting: ["list", "agents", "schedules", "show", "timeline", "ledger", "cost", "diagnose", "verify", "watch"],
  Recordings: ["export", "file", "replay", "snapshot", "pin"],
  Memory: ["memory list", "memory search", "memory show", "memory forget"],
  Webhooks: ["webhooks list", "webhooks redeliver"],
  Access: ["audit-log", "token create", "token list", "token revoke"],
  Backups: [addBackups, "checked", "restored"],
  Checking: [addChecking],
};

/** The commands that have commands below them. */
const PARENTS: Readonly<Record<string, string>> = {
  memory: "list, search, show and forget what agents keep between runs",
  webhooks: "list webhook endpoints, and send them again what they refused",
  token: "make, list and revoke access tokens for the HTTP API",
};

export function addCommands(program: Command, into: Into, commands: readonly TypedCommand[]): void {
  for (const heading of new Set([...Object.keys(HEADINGS), ...commands.map(({ group }) => group)])) {
    program.commandsGroup(`${heading}:`);
    const named = HEADINGS[heading] ?? [];
    const more = commands.filter(({ command, group }) => group === heading && !named.includes(command));
    for (const entry of named) {
      if (typeof entry === "function") entry(program, into);
      else
        addOne(
          program,
          into,
          commands.find(({ command }) => command === entry),
        );
    }
    for (const typed of more) addOne(program, into, typed);
  }
}

function addOne(program: Command, { shell, ends }: Into, typed: TypedCommand | undefined): void {
  if (typed === undefined) return;
  const [first = "", second] = typed.command.split(" ");
  addTyped(second === undefined ? program : parentOf(program, first), typed, async (given) => {
    const load = HANDLERS[typed.command];
    if (load !== undefined) return ends((await load())(shell, given as never));
    return ends((await import("./derived-command.ts")).performTyped(shell, typed, given));
  });
}

const parentOf = (program: Command, name: string): Command =>
  program.commands.find((command) => command.name() === name) ?? program.command(name).description(PARENTS[name] ?? "");
