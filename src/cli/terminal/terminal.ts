/**
 * The two streams of a command, and the progress line.
 *
 * On a terminal a spinner says what the command waits for, and moves out of the way of printed lines. Elsewhere a plain
 * line goes to stderr after two seconds of silence, then every ten seconds. So a log shows that the command is still
 * working.
 */
import { styleText } from "node:util";
import type { Paint } from "../../render/paint.ts";
import { duration, short } from "../../render/words.ts";

/** A stream of text. `stream` is the stream behind it, which knows whether it is a terminal and supports colours. */
export interface Output {
  readonly stream: NodeJS.WriteStream;
  readonly write: (text: string) => void;
}

/** What a command prints with. */
export interface Terminal {
  /** Prints on stdout. */
  readonly out: (text: string) => void;
  /** Prints on stderr. */
  readonly err: (text: string) => void;
  /** Sets what the command waits for from now on; null: nothing. */
  readonly waitFor: (what: string | null) => void;
  readonly paintOut: Paint;
  readonly paintErr: Paint;
  /** Whether the progress line is a spinner, because stderr is a terminal. */
  readonly isLive: boolean;
  /** The columns of stdout; if it is not a terminal, a width that suits a log. */
  readonly width: number;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
const QUIET_FIRST_MS = 2_000;
const QUIET_AGAIN_MS = 10_000;
const LOG_WIDTH = 160;
const CLEAR_LINE = "\r\u001b[2K";

/** The terminal over two streams. Each stream decides separately whether it has colours. */
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

/** Adds colour if the stream supports it. NO_COLOR and FORCE_COLOR override this. */
const painter =
  ({ stream }: Output): Paint =>
  (ink, text) =>
    styleText(ink, text, { stream });

interface Waiting {
  readonly set: (what: string | null) => void;
  /** Called before and after a line is printed. */
  readonly before: () => void;
  readonly after: () => void;
}

/** Draws the spinner. Its time counts from the last printed line, because that line was news. */
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
