/**
 * The support desk, as files in `.office`: your own service takes its place. It does what keyed tools need: a request
 * with a known key gets the first answer again, and no second effect.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Ticket {
  readonly ticket: number;
  readonly subject: string;
  /** Since the last answer. */
  readonly days: number;
}

export const openTickets = (team: string): readonly Ticket[] =>
  team === "support"
    ? [
        { ticket: 11, subject: "The lamp flickers", days: 9 },
        { ticket: 14, subject: "Where is my order?", days: 3 },
        { ticket: 15, subject: "Thank you", days: 1 },
      ]
    : [];

export const reassign = (of: { readonly ticket: number }, key: string): { to: string } =>
  once("handed-over", key, { to: "the head of the team", ...of });

export const post = (of: { readonly team: string; readonly text: string }, key: string): { posted: string } =>
  once("posts", key, { posted: `to #${of.team}`, ...of });

/** Writes an effect into a file that is named by its key, unless it is there. */
function once<Effect>(kind: string, key: string, effect: Effect): Effect {
  const dir = join(process.env["OFFICE"] ?? ".office", kind);
  const file = join(dir, `${encodeURIComponent(key)}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Effect;
  mkdirSync(dir, { recursive: true });
  // A process that dies while it writes leaves a file with another name.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(effect));
  renameSync(`${file}.${process.pid}`, file);
  return effect;
}
