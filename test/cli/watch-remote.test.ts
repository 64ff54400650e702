/** `cairn watch RUN --api URL` that is stopped: it ends as on this machine. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../src/cli/program.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGPIPE", 0],
])("a watch of an API that %s stops ends with %i, and not as an error", async (signal, exit) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = new AbortController();
  const { shell, said } = createShell({ dir: ".", person: null }, ["watch", `local-${"a".repeat(26)}`, "--api", api]);
  const asked = once(server, "request");
  const ended = runCommand({ ...shell, stopSignal: () => stop.signal }, "0");
  await asked;
  stop.abort(signal);
  expect({ exit: await ended, said }).toEqual({ exit, said: { out: "", err: "" } });
});
