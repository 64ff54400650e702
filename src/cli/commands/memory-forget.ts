/** `cairn memory forget`: removes an entry of a memory, or all of its entries and sources. It asks first. */
import { UserError, EXIT } from "../../compose/user-error.ts";
import { transportTo } from "../choose-transport.ts";
import { commandLine, count, short, visible } from "../../render/words.ts";
import { type Shell, printDocument } from "../shell.ts";
import { type MemoryFlags, entryUnknown, openMemory } from "./memory.ts";

export interface ForgetFlags extends MemoryFlags {
  readonly yes?: boolean;
  readonly why?: string;
}

const SHOWN_CHARACTERS = 80;

export async function forgetOne(
  shell: Shell,
  { id, flags }: { readonly id: string; readonly flags: ForgetFlags },
): Promise<number> {
  const { transport, scope, local } = await openMemory(transportTo, shell, flags);
  // An entry that cannot be read can be forgotten with --yes.
  if (flags.yes !== true) {
    const seen = await transport.perform("memoryEntry", { scope, id }, local);
    if (seen.kind === "missing") throw entryUnknown(transport.command, { scope, id });
    const text = visible(short(seen.entry.text, SHOWN_CHARACTERS));
    await confirm(shell, `${id} of memory ${scope}, "${text}"`);
  }
  const { why = "" } = flags;
  const outcome = await transport.perform("forgetEntry", { scope, id, why }, local);
  if (outcome.kind === "missing") throw entryUnknown(transport.command, { scope, id });
  if (shell.json) printDocument(shell, { scope, id, forgotten: true });
  else shell.terminal.out(`${id} is forgotten: no later run recalls it. ${COPIES}`);
  return EXIT.done;
}

const COPIES = "Runs that recalled it keep their copy until they are removed.";

export async function forgetAll(shell: Shell, flags: ForgetFlags): Promise<number> {
  const { transport, scope, local } = await openMemory(transportTo, shell, flags);
  const seen = await transport.perform("forgetMemory", { scope }, local);
  const what = `${entriesWords(seen.entries)} of memory ${scope}, and every source that its tools fetched`;
  if (flags.yes !== true) await confirm(shell, what);
  const { why = "" } = flags;
  const forgotten = { entries: 0, sources: 0 };
  for (let isMore = true; isMore;) {
    const outcome = await transport.perform("forgetMemory", { scope, confirmed: true, why }, local);
    if (outcome.kind === "notConfirmed") break;
    forgotten.entries += outcome.entries;
    forgotten.sources += outcome.sources;
    isMore = outcome.more;
  }
  const { entries, sources } = forgotten;
  if (shell.json) printDocument(shell, { scope, ...forgotten });
  else shell.terminal.out(`${entriesWords(entries)} and ${count(sources, "source")} of memory ${scope} are forgotten`);
  return EXIT.done;
}

const entriesWords = (entries: number): string => count(entries, "entry", "entries");

async function confirm({ ask, terminal, argv }: Shell, what: string): Promise<void> {
  const answer = ask === null ? null : await ask(`forget ${terminal.paintErr("bold", what)}? type yes: `);
  if (answer?.trim().toLowerCase() === "yes") return;
  throw new UserError({
    code: "NotConfirmed",
    exit: EXIT.usage,
    what: `nothing was forgotten: this removes ${what}`,
    why: answer === null ? "there is no terminal to ask at, and it cannot be taken back" : "the answer was not yes",
    next: commandLine([...argv, "--yes"]),
  });
}
