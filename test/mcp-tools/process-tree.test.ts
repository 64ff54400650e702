/** The processes that a server's command has started, by the lines of `ps`, as macOS and the BSDs print them. */
import { expect, test } from "vitest";
import { startedIn } from "../../src/mcp-tools/process-tree.ts";

const LINES = `
    1     0
  812     1
 4000   812
 4001  4000
 4002  4001
 4003  4001
 5000   812
`;

test("finds what a process has started, and what these have started", () => {
  expect(startedIn(LINES, 4_000)).toEqual([4_001, 4_002, 4_003]);
  expect(startedIn(LINES, 4_001)).toEqual([4_002, 4_003]);
});

test("finds none for a process that started none, or is gone", () => {
  expect(startedIn(LINES, 5_000)).toEqual([]);
  expect(startedIn(LINES, 9_999)).toEqual([]);
  expect(startedIn("", 4_000)).toEqual([]);
});

test("ends where a process seems to descend from itself, as after a reuse of its pid", () => {
  expect(startedIn(" 10 11\n 11 10\n", 10)).toEqual([11, 10]);
});
