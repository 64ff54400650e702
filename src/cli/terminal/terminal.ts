/**
 * The two streams of a command, and the one line that moves. On a terminal a spinner says what is being waited for and
 * makes room for whatever is printed meanwhile; elsewhere a plain line goes to stderr after two seconds of silence, and
 * every ten seconds after that, so that a log shows that somebody is at work.
 */
import { styleText } from "node:util";
import type { Paint } from "./paint.ts";
import { duration, short } from "../render/words.ts";

/** Where text goes, and the stream behind it, which knows whether it is a terminal and has colours. */
export interface Output {
  readonly stream: NodeJS.WriteStream;
  readonly write: (text: string) => void;
}

export interface Terminal {
  /** Prints on stdout. */
  readonly out: (text: string) => void;
  /** Prints on stderr. */
  readonly err: (text: string) => void;
  /** What is being waited for from here on; null: nothing. */
  readonly waitFor: (what: string | null) => void;
  readonly paintOut: Paint;
  readonly paintErr: Paint;
  /** Whether the line that moves is one: stderr is a terminal. */
  readonly isLive: boolean;
  /** Columns of stdout; where it is no terminal, what reads well in a log. */
  readonly width: number;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
const QUIET_FIRST_MS = 2_000;
const QUIET_AGAIN_MS = 10_000;
const LOG_WIDTH = 160;
const CLEAR_LINE = "\r\u001b[2K";

export function createTerminal({ stdout, stderr }: { readonly stdout: Output; readonly stderr: Output }): Terminal {
  const paintErr = painter(stderr);
  const waiting = stderr.stream.isTTY ? spinner(stderr, paintErr) : plainLines(stderr);
  const print = ({ write }: Output, text: string): void => {
    waiting.before();
    write(`${text}\n`);
    waiting.after();
  };
  return {
    out: (text) => print(stdout, text),
    err: (text) => print(stderr, text),
    waitFor: (what) => waiting.set(what),
    isLive: stderr.stream.isTTY,
    paintOut: painter(stdout),
    paintErr,
    width: stdout.stream.isTTY ? stdout.stream.columns : LOG_WIDTH,
  };
}

/** Colour where the stream shows it; NO_COLOR and FORCE_COLOR have the last word. */
const painter =
  ({ stream }: Output): Paint =>
  (ink, text) =>
    styleText(ink, text, { stream });

interface Waiting {
  readonly set: (what: string | null) => void;
  /** Something is printed between these two. */
  readonly before: () => void;
  readonly after: () => void;
}

/** How long it waits is counted from the last thing that was printed: that was news. */
function spinner({ stream, write }: Output, paint: Paint): Waiting {
  let what: string | null = null;
  let since = 0;
  let timer: NodeJS.Timeout | null = null;
  let isDrawn = false;
  const draw = (): void => {
    const elapsed = Date.now() - since;
    if (what === null || elapsed < FRAME_MS) return;
    const frame = FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length] ?? "";
    const time = elapsed < QUIET_FIRST_MS ? "" : paint("dim", ` ${duration(elapsed)}`);
    // A line that wraps could not be cleared.
    write(`${CLEAR_LINE}${paint("cyan", frame)} ${short(what, stream.columns - 12)}${time}`);
    isDrawn = true;
  };
  const clear = (): void => {
    if (isDrawn) write(CLEAR_LINE);
    isDrawn = false;
    since = Date.now();
  };
  return {
    set: (next) => {
      if (next === what) return;
      clear();
      what = next;
      if (timer !== null) clearInterval(timer);
      timer = next === null ? null : setInterval(draw, FRAME_MS).unref();
    },
    before: clear,
    after: () => {},
  };
}

function plainLines({ write }: Output): Waiting {
  let what: string | null = null;
  let since = 0;
  let timer: NodeJS.Timeout | null = null;
  const arm = (ms: number): void => {
    if (timer !== null) clearTimeout(timer);
    timer = what === null ? null : setTimeout(say, ms).unref();
  };
  const say = (): void => {
    write(`${what ?? ""} (${duration(Date.now() - since)})\n`);
    arm(QUIET_AGAIN_MS);
  };
  const begin = (): void => {
    since = Date.now();
    arm(QUIET_FIRST_MS);
  };
  return {
    set: (next) => {
      if (next === what) return;
      what = next;
      begin();
    },
    before: () => {},
    after: begin,
  };
}
