/** `cairn mcp`: serves the agents of a project, or of an API, to one MCP client over standard input and output. */
import { Writable } from "node:stream";
import { createApi } from "../../api/app.ts";
import { createClient, type Client } from "../../client/client.ts";
import { CairnError } from "../../client/errors.ts";
import { connect } from "../../client/connect.ts";
import { unlessAborted } from "../../ports/unless-aborted.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { loadMcp } from "../../integrations/mcp/load.ts";
import { ownVersion } from "../../integrations/mcp/version.ts";
import { SCOPES } from "../../operations/operation.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { nextFirings } from "../../features/schedules/firing-times.ts";
import { agentToStart } from "../../compose/agent-to-start.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { attendantOf, openSettled } from "../../compose/open.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { catalogueOf } from "../../compose/catalogue.ts";

/** Ends when the client closes its end, or at a signal. Runs go on. */
export async function mcp(shell: Shell, flags: StoreFlags): Promise<number> {
  const stop = shell.stopSignal();
  const { serveClient } = await loadMcp(() => import("../../integrations/mcp/stdio.ts")).catch((error: unknown) => {
    throw error instanceof CairnError ? packageMissing(error) : error;
  });
  const cairn = flags.api === undefined ? await clientOfStore(shell, flags) : await clientOfApi(shell, flags.api);
  const served = serveClient(cairn, { version: ownVersion(), output: outputOf(shell) });
  stop.addEventListener("abort", () => void served.close(), { once: true });
  await served.closed;
  return EXIT.done;
}

const clientOfApi = ({ env }: Shell, api: string): Promise<Client> => {
  const token = env["CAIRN_TOKEN"];
  return connect({ api, ...(token !== undefined && { token }) });
};

/** The client has the rights of the operator at this machine, who started this process. */
async function clientOfStore(shell: Shell, flags: StoreFlags): Promise<Client> {
  registerResolution();
  const settings = await settingsOf(shell, flags);
  const opened = await openSettled(shell, settings, { create: true });
  if (attendantOf(opened) === null)
    shell.terminal.err(
      `no process drives the runs of ${settings.world.place} yet; in another terminal, type: npx cairn work`,
    );
  const caller = { tenant: DEFAULT_TENANT, actor: `${shell.user()}@${shell.host()} mcp`, scopes: SCOPES };
  const api = createApi<object>({
    world: opened.world,
    agentOf: (name) => agentToStart(shell, opened, name),
    agents: () => catalogueOf(settings),
    firingsOf: nextFirings,
    callerOf: () => caller,
    baseOf: () => "",
  });
  const send = (request: Request) => unlessAborted(request.signal, async () => api.fetch(request, {}));
  const endpoint = { url: "http://cairn.local", headers: () => ({}), send };
  return createClient(endpoint, async () => opened.close());
}

/** Each message of MCP is one line. */
const outputOf = ({ terminal }: Shell): Writable =>
  new Writable({
    decodeStrings: false,
    write: (line: string | Buffer, _, done) => {
      terminal.out(String(line).replace(/\n$/, ""));
      done();
    },
  });

const packageMissing = ({ message }: CairnError): UserError =>
  new UserError({
    code: "PackageMissing",
    exit: EXIT.refused,
    what: "cairn cannot speak MCP here",
    why: message,
    next: "npm install @modelcontextprotocol/server",
  });
