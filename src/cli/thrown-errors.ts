/**
 * Translates any thrown error to the form of the command line. It knows the errors of all layers, so it is loaded only
 * when a command has failed.
 */
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { ConfigInvalid } from "../sdk/config.ts";
import { ModelNotReady } from "../ports/named-models.ts";
import { SealKeyInvalid } from "../ports/seal-keys.ts";
import { StoreForeign, StoreInvalid, StoreTooNew, StoreUnusable } from "../ports/store-errors.ts";
import { StoreSupervised, WorkersUnbootable } from "../ports/supervision.ts";
import { Unreadable } from "../codec/canonical.ts";
import { RowNewer, RowUnreadable } from "../codec/row.ts";
import { InvariantViolated } from "../core/ensure.ts";
import { StoreUnreachable } from "../ports/world.ts";
import { transformerMissing } from "../compose/transformer-missing.ts";
import { UserError, EXIT, type UserErrorDetails } from "../compose/user-error.ts";
import { isOwn } from "../sdk/own-files.ts";
import { stackOf } from "../codec/value.ts";
import { isShortage } from "./errors.ts";
import { commandLine, retryAfter } from "../render/words.ts";

/** Turns any thrown value into a `UserError`. `argv` is the command that the user typed. */
export function asUserError(error: unknown, argv: readonly string[]): UserError {
  if (error instanceof UserError) return error;
  const missing = transformerMissing(error);
  if (missing !== null) return missing;
  const trouble = troubleOf(error, argv);
  return new UserError(trouble, { cause: error });
}

function troubleOf(error: unknown, argv: readonly string[]): UserErrorDetails {
  if (!(error instanceof Error)) return unexpected(new Error(String(error)));
  if (error instanceof StoreTooNew || error instanceof StoreForeign || error instanceof StoreInvalid) {
    const isDeployed = error instanceof StoreForeign && error.place === "deployment";
    const elsewhere = commandLine(withStore(argv, "ANOTHER_DIRECTORY"));
    const next = isDeployed ? "npx sst deploy --stage ANOTHER_STAGE" : elsewhere;
    return { code: error.code, exit: EXIT.store, ...clausesOf(error.message), next };
  }
  if (error instanceof StoreUnusable && error.code === "StoreDamaged") {
    const next = commandLine(["doctor", ...storeOf(argv)]);
    return { code: error.code, exit: EXIT.store, ...clausesOf(error.message), next };
  }
  if (error instanceof StoreUnreachable || error instanceof StoreUnusable) {
    return { code: error.code, exit: EXIT.store, ...clausesOf(error.message), next: diagnosis(argv) };
  }
  if (error instanceof StoreSupervised) {
    const { pid, since } = error;
    const facts = since === null ? { pid } : { pid, since };
    return { code: error.code, exit: EXIT.refused, ...clausesOf(error.message), next: `kill ${pid}`, facts };
  }
  if (error instanceof WorkersUnbootable) {
    const [what, why] = [error.message, error.why];
    return { code: error.code, exit: EXIT.failed, what, why, next: diagnosis(argv) };
  }
  if (error instanceof RowNewer) {
    const why =
      "nothing was changed: a newer version of cairn wrote the run and drives it; it still accepts messages and `cancel`";
    const next = "npm install cairn-run@latest";
    return { code: error.code, exit: EXIT.store, what: error.message, why, next, facts: { run: error.run } };
  }
  if (error instanceof RowUnreadable) {
    const why = "nothing was changed; this run stands still until its data can be read, and every other run continues";
    const next = commandLine(["verify", error.run, ...storeOf(argv)]);
    return { code: error.code, exit: EXIT.store, what: error.message, why, next, facts: { run: error.run } };
  }
  if (error instanceof Unreadable) {
    const why = `nothing was changed; what is stored cannot be read or verified (${error.code})`;
    return { code: error.code, exit: EXIT.store, what: error.message, why, next: diagnosis(argv) };
  }
  if (error instanceof SealKeyInvalid) {
    const why = "without the right seal keys cairn cannot seal or verify runs; nothing was started";
    return { code: error.code, exit: EXIT.usage, what: error.message, why, next: "openssl rand -hex 32" };
  }
  if (error instanceof AgentInvalid || error instanceof ConfigInvalid) {
    const why = error instanceof ConfigInvalid ? "the config is checked before anything starts" : AGENT_CHECKED;
    const file = error instanceof ConfigInvalid ? "cairn.config.ts" : "the agent's file";
    return { code: error.code, exit: EXIT.usage, what: error.message, why, next: retryAfter(argv, `correct ${file}`) };
  }
  if (error instanceof ModelNotReady) {
    const why = "a run of it could not call its model; nothing was started";
    return { code: error.code, exit: EXIT.refused, what: error.message, why, next: error.next };
  }
  if (isShortage(error)) {
    const why = "the disk has no room for it, or reports an error";
    return { code: "FileUnwritable", exit: EXIT.store, what: error.message, why, next: "df -h" };
  }
  if (isOfPath(error)) {
    const why = "the system refuses that file or folder: its name is too long, or this user has no right to it";
    const next = retryAfter(argv, "name another file or folder");
    return { code: "FileUnusable", exit: EXIT.usage, what: error.message, why, next };
  }
  return unexpected(error);
}

/** A file that the user named, and that the system refuses. */
const isOfPath = (error: Error): boolean =>
  "path" in error &&
  "code" in error &&
  ["ENAMETOOLONG", "EACCES", "EPERM", "EROFS", "ELOOP", "EISDIR", "ENOTDIR"].includes(String(error.code));

const AGENT_CHECKED = "an agent is checked before any run of it starts; nothing was started";

/** A bug in cairn: the message includes the stack, so that a report shows where. */
function unexpected(error: Error): UserErrorDetails {
  const code = error instanceof InvariantViolated ? error.code : "Unexpected";
  const why = `this is a bug in cairn:\n${error.stack ?? error.message}`;
  return { code, exit: EXIT.failed, what: error.message, why, next: commandLine(["--version"]) };
}

/** An error that nothing caught. It may come from code of an agent, whose timers and events no code awaits. */
export function uncaughtError(error: unknown, argv: readonly string[]): UserError {
  const known = asUserError(error, argv);
  const { code, exit, next } = known.trouble;
  const place = stackOf(error)?.match(/(?:file:\/\/|\()(\/[^\n()]*?):\d+/)?.[1] ?? null;
  if (code !== "Unexpected" || place === null || isOwn(place)) return known;
  const why = `code of the project or of one of its packages threw it where nothing catches it:\n${stackOf(error)}`;
  return new UserError({ code: "UncaughtError", exit, what: known.trouble.what, why, next }, { cause: error });
}

/** Splits a message of the store into its clauses. The form is `what: why; what to do`; some messages have no `why`. */
function clausesOf(message: string): { readonly what: string; readonly why: string } {
  const {
    what = message,
    why,
    advice = "",
  } = /^(?<what>.*?)(?:: (?<why>.*?))?(?:; (?<advice>.*))?$/s.exec(message)?.groups ?? {};
  return { what, why: [why ?? "", advice].filter((clause) => clause !== "").join("; ") || message };
}

/** The command that finds out why a store or a worker fails. If that command is the one that failed: its options. */
const diagnosis = (argv: readonly string[]): string =>
  commandLine(argv[0] === "doctor" ? ["doctor", "--help"] : ["doctor", ...storeOf(argv)]);

/** The words of a command that select its store or world. */
const storeOf = (argv: readonly string[]): string[] =>
  argv.filter((word, index) => /^--(store|world)(=|$)/.test(word) || /^--(store|world)$/.test(argv[index - 1] ?? ""));

/** The same command, but for the store in `dir`. */
function withStore(argv: readonly string[], dir: string): string[] {
  const words = argv.filter((word, index) => !/^--store(=|$)/.test(word) && argv[index - 1] !== "--store");
  return [...words, "--store", dir];
}
