/**
 * What a test is told whose run needs something that production has and the test does not give: the agent of a child run,
 * the value of a secret, files. Without it the call would fail, and the test would only see what its model made of that.
 */
import type { Agent, RunFiles, Tool, ToolSecrets } from "../../ports/agent.ts";
import { agentWithTools } from "../fault-points.ts";

type NotGivenCode = "AgentNotGiven" | "ModelNotGiven" | "SecretNotGiven" | "FilesNotGiven";

/** A run needed something that no option of the test gives. */
export class NotGiven extends Error {
  override readonly name = "NotGiven";
  readonly code: NotGivenCode;

  constructor(code: NotGivenCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const agentNotGiven = (name: string): NotGiven =>
  new NotGiven(
    "AgentNotGiven",
    `the run starts a child run of agent ${name}, and the test does not give that agent: pass agents: [${name}]`,
  );

/** A test has no keys of providers, so a call of such a model would fail again and again. */
export const modelNotGiven = (agent: string): NotGiven =>
  new NotGiven(
    "ModelNotGiven",
    `agent ${agent} calls a model that it names by a text, and a test calls no provider: pass model: scriptedModel({ ... }), ` +
      `or { ...${agent}, model: scriptedModel({ ... }) } in agents`,
  );

const secretNotGiven = (agent: string, name: string): NotGiven =>
  new NotGiven(
    "SecretNotGiven",
    `agent ${agent} reads the secret ${name}, and the test does not give it: pass secrets: { ${name}: "..." }`,
  );

const filesNotGiven = (agent: string, name: string): NotGiven =>
  new NotGiven(
    "FilesNotGiven",
    `agent ${agent} reads the file ${JSON.stringify(name)}, and the test gives no files: ` +
      `pass files: [{ name: ${JSON.stringify(name)}, bytes }], or files: [] if its task has none`,
  );

interface Given {
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly files?: readonly unknown[] | undefined;
}

/** The agent, whose tools tell `onMissing` what the test does not give, and then fail as they would without that. */
export function tellingAgent(agent: Agent, given: Given, onMissing: (missing: NotGiven) => void): Agent {
  const { secrets: values = {}, files: task } = given;
  const withSecrets = (secrets: ToolSecrets): ToolSecrets => ({
    ...secrets,
    get: (name) => {
      const isMissing = agent.secrets.includes(name) && !Object.hasOwn(values, name);
      if (isMissing) onMissing(secretNotGiven(agent.name, name));
      return secrets.get(name);
    },
  });
  const withFiles = (files: RunFiles): RunFiles => ({
    ...files,
    read: async (name) => {
      try {
        return await files.read(name);
      } catch (error) {
        if (task === undefined) onMissing(filesNotGiven(agent.name, name));
        throw error;
      }
    },
  });
  const told = <Context extends { readonly secrets: ToolSecrets; readonly files?: RunFiles }>(context: Context) => ({
    ...context,
    secrets: withSecrets(context.secrets),
    ...(context.files && { files: withFiles(context.files) }),
  });
  const toldTool = (tool: Tool): Tool => {
    const { run, probe, before, undo } = tool;
    return {
      ...tool,
      run: (context) => run(told(context)),
      probe: probe && ((context) => probe(told(context))),
      ...(before && { before: (input, context) => before(input, told(context)) }),
      undo: undo && {
        ...undo,
        run: (context) => undo.run(told(context)),
        ...(undo.probe && { probe: (context) => undo.probe?.(told(context)) }),
      },
    } as Tool;
  };
  return agentWithTools(agent, toldTool);
}
