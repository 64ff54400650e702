/** MCP servers over standard output that send more than a client reads, or nothing. */
import { expect, test } from "vitest";
import { NO_SECRETS, serverOf } from "./desk.ts";

test("names the message that was too long when it ends the process of a server for it", async () => {
  const endless =
    'process.stdin.resume().on("end", () => process.exit(0)); process.stdout.write("x".repeat(11_000_000))';
  const source = serverOf({ name: "desk", command: process.execPath, args: ["-e", endless] });
  await expect(source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 })).rejects.toThrow(
    /^MCP server desk cannot be reached: its process was ended, because it sent a message that is too long: /,
  );
});

test("says that a server did not answer in time, and what it wrote", async () => {
  const silent = 'process.stdin.resume().on("end", () => process.exit(0)); console.error("busy")';
  const source = serverOf({ name: "desk", command: process.execPath, args: ["-e", silent], connectMs: 2_000 });
  await expect(source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 })).rejects.toThrow(
    /^MCP server desk cannot be reached: .*timed out after .*; then its process ended with code 0; it wrote: busy$/,
  );
});
