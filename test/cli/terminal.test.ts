/** What moves on a terminal, and what a log gets instead. */
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Output, createTerminal } from "../../src/cli/terminal/terminal.ts";

/** What stands for the clearing of a line. */
const CLEAR = "<clear>";

/** A stream that remembers what was written, in one list with the other one. */
const outputOf = (written: string[], isTTY: boolean): Output => ({
  stream: Object.assign(Object.create(process.stderr) as NodeJS.WriteStream, {
    isTTY,
    columns: 40,
    hasColors: () => false,
  }),
  write: (text) => void written.push(stripVTControlCharacters(text.replace("\r\u001b[2K", CLEAR))),
});

function terminalOf(isTTY: boolean) {
  const written: string[] = [];
  const streams = { stdout: outputOf(written, isTTY), stderr: outputOf(written, isTTY) };
  return { terminal: createTerminal(streams), written };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("on a terminal", () => {
  it("a spinner is cleared before other output, and restarts its count", () => {
    const { terminal, written } = terminalOf(true);
    terminal.waitFor("running tools");
    vi.advanceTimersByTime(200);
    terminal.out("news");
    expect(written).toEqual([`${CLEAR}⠙ running tools`, `${CLEAR}⠹ running tools`, CLEAR, "news\n"]);
    written.length = 0;
    vi.advanceTimersByTime(2_000);
    expect(written.at(-2)).toMatch(/ running tools$/);
    expect(written.at(-1)).toMatch(/ running tools 2\.0s$/);
    terminal.waitFor(null);
    expect(written.at(-1)).toBe(CLEAR);
    vi.advanceTimersByTime(60_000);
    expect(written.at(-1)).toBe(CLEAR);
  });

  it("the text of a spinner never exceeds its line", () => {
    const { terminal, written } = terminalOf(true);
    terminal.waitFor("x".repeat(100));
    vi.advanceTimersByTime(5_000);
    expect(Math.max(...written.map((text) => text.replace(CLEAR, "").length))).toBeLessThanOrEqual(40);
  });

  it("nothing is shown for work that is over soon", () => {
    const { terminal, written } = terminalOf(true);
    terminal.waitFor("a moment");
    vi.advanceTimersByTime(50);
    terminal.waitFor(null);
    expect(written).toEqual([]);
  });
});

describe("in a log", () => {
  it("prints a line after two silent seconds, then every ten", () => {
    const { terminal, written } = terminalOf(false);
    terminal.waitFor("running tools");
    vi.advanceTimersByTime(1_900);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(20_200);
    expect(written).toEqual(["running tools (2.0s)\n", "running tools (12s)\n", "running tools (22s)\n"]);
    terminal.out("news");
    vi.advanceTimersByTime(2_000);
    expect(written.slice(3)).toEqual(["news\n", "running tools (2.0s)\n"]);
    terminal.waitFor(null);
    vi.advanceTimersByTime(60_000);
    expect(written).toHaveLength(5);
  });

  it("has lines of a readable width", () => {
    expect([terminalOf(false).terminal.width, terminalOf(true).terminal.width]).toEqual([160, 40]);
  });
});
