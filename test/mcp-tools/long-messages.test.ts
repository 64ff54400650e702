/** MCP servers over standard output that send more than a client reads, or nothing. */
import { expect, onTestFinished, test, vi } from "vitest";
import { LINE_BYTES_MAX } from "../../src/mcp-tools/line-buffer.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { NO_SECRETS, serverOf } from "./desk.ts";

/** A server that runs this code once, and ends with its input. */
const serverWith = (code: string, connectMs: number) =>
  serverOf({
    ...{ name: "desk", command: process.execPath, connectMs },
    args: ["-e", `process.stdin.resume().on("end", () => process.exit(0)); ${code}`],
  });

test("names the message that was too long when it ends the process of a server for it", async () => {
  const source = serverWith(`process.stdout.write("x".repeat(${LINE_BYTES_MAX + 1}))`, LIMITS.startMs);
  await expect(source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 })).rejects.toThrow(
    /^MCP server desk cannot be reached: its process was ended, because it sent a message that is too long: more than \d+ bytes$/,
  );
});

test("says that a server did not answer in time, and what it wrote", async () => {
  // The process has as much time as it needs to start and to end: only the limit of the connection passes.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const connectMs = 2_000;
  const listed = serverWith('console.error("busy")', connectMs).list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 });
  listed.catch(() => undefined);
  await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(connectMs);
  await expect(listed).rejects.toThrow(
    /^MCP server desk cannot be reached: .*timed out after .*; then its process ended with code 0; it wrote: busy$/,
  );
});
