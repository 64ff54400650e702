/** MCP servers over standard output that send more than a client reads. */
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
