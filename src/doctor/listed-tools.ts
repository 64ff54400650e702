/** The tools that an agent's servers list now, for the audit. A server that is down is no error of the agent. */
import { sentenceOf } from "../codec/value.ts";
import { leftOutOf, toolsWith } from "../engine/context/agent-sources.ts";
import type { Agent, Tool, ToolSecrets } from "../ports/agent.ts";
import type { Missing } from "./audit-missing.ts";

/** The agent with the tools of the servers that answer, and a finding about each other server. */
export async function withListedTools(
  agent: Agent,
  secrets: ToolSecrets,
): Promise<{ readonly agent: Agent; readonly missing: readonly Missing[] }> {
  const { sources = [] } = agent;
  const lists: Readonly<Record<string, Tool>>[] = [];
  const missing: Missing[] = [];
  const asked = sources.map((source) => source.list({ secrets, mayBeOld: false, now: Date.now() }));
  const answers = await Promise.allSettled(asked);
  for (const [at, listed] of answers.entries()) {
    if (listed.status === "fulfilled") {
      lists.push(listed.value);
      continue;
    }
    const why = `the tools of ${sources[at]?.label ?? ""} are not audited: ${sentenceOf(listed.reason)}`;
    missing.push({ kind: "missing", what: "server", why, mend: "start the server, and audit again" });
  }
  const all = answers.map((each) => (each.status === "fulfilled" ? each.value : {}));
  for (const { tool, source, why } of leftOutOf(agent, all)) {
    missing.push({
      kind: "missing",
      what: "leftOut",
      why: `${source} has a tool ${tool}, and no run gets it`,
      mend: why,
    });
  }
  return { agent: lists.length === 0 ? agent : { ...agent, tools: toolsWith(agent.tools, lists) }, missing };
}
