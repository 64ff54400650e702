/**
 * Runs through which a secret passes on every possible path, and a search for it afterwards. The forms are computed
 * here again, independently of the product's code.
 */
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { z } from "zod";
import type { Agent, ToolContext } from "../../../src/ports/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import { type Conversation, OutcomeUnknown, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { NOTHING_SPENT } from "../../../src/core/policy/budget.ts";
import type { World } from "../../../src/ports/world.ts";
import { alarm } from "../../../src/history/alarm.ts";
import { assign } from "../../../src/operations/assign.ts";
import { decide } from "../../../src/operations/decide.ts";
import { deliver } from "../../../src/engine/context/inbox.ts";
import { show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { startRun } from "../../../src/operations/start.ts";
import { send } from "../../../src/operations/steer.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../harness/drive.ts";

/** A secret with all characters that encodings change. */
export const TOKEN = 't0k/en+"7\\x9~Qä';
/** A credential that is not declared as a secret. */
export const AWS_ID = "AKIAIOSFODNN7EXAMPLE";

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** Every form from which a reader could recover it. */
export function formsOf(secret: string): readonly string[] {
  // In the middle of base64 text it has one of three alignments.
  const within = ["", "a", "ab"].map((before) => base64(`${before}${secret}`).slice(before === "" ? 0 : 4, -4));
  const encoded = [encodeURIComponent(secret), new URLSearchParams({ q: secret }).toString().slice(2)];
  // Text that contains JSON is escaped again when it is stored, and so on.
  const escaped = [secret, secret.slice(0, 9), secret.slice(-9)].flatMap((each) => [0, 1, 2, 3].map(inJson(each)));
  const urlSafe = within.map((each) => each.replaceAll("+", "-").replaceAll("/", "_"));
  return [...new Set([...escaped, ...encoded, ...within, ...urlSafe])];
}

const inJson =
  (text: string) =>
  (times: number): string =>
    times === 0 ? text : JSON.stringify(inJson(text)(times - 1)).slice(1, -1);

/** Which of these occur in the bytes, compressed or uncompressed. */
export function leaksIn(bytes: Uint8Array, forms: readonly string[]): readonly string[] {
  const texts = [Buffer.from(bytes), ...unpacked(bytes)].map((each) => each.toString("utf8"));
  return forms.filter((form) => texts.some((text) => text.includes(form)));
}

function unpacked(bytes: Uint8Array): readonly Buffer[] {
  return [brotliDecompressSync, gunzipSync].flatMap((unpack) => {
    try {
      return [unpack(bytes)];
    } catch {
      return [];
    }
  });
}

const NOTHING = z.object({ token: z.string().optional() });
type Context = ToolContext<z.output<typeof NOTHING>>;
const tokenOf = ({ secrets }: Pick<Context, "secrets">): Promise<string> => secrets.get("AIRLINE_TOKEN");

/** The inputs of the run's tools. */
interface ToolInputs {
  readonly tokens: string[];
  readonly inputs: (string | undefined)[];
  /** Called once, during the first call. */
  readonly die: () => void;
}

const everywhere = (token: string): Json => ({
  ...{ plain: token, json: JSON.stringify({ token }), url: `https://x.test/?t=${encodeURIComponent(token)}` },
  ...{ basic: `Basic ${base64(`ada:${token}`)}`, shifted: base64(`a${token}z`), id: AWS_ID, [token]: [token, 7] },
});

function toolsOf({ tokens, inputs, die }: ToolInputs) {
  const one = { input: NOTHING, effect: "keyed" } as const;
  return {
    echo: tool({
      ...one,
      run: async (context) => {
        const token = await tokenOf(context);
        tokens.push(token);
        inputs.push(context.input.token);
        context.log(`the token is ${token}`);
        // The first process dies here, and the next one runs the recorded call.
        if (tokens.length === 1) die();
        if (tokens.length === 1) return new Promise(() => undefined);
        return everywhere(token);
      },
      externalId: (result) => `made by ${(result as { readonly plain: string }).plain}`,
    }),
    large: tool({ ...one, run: async (context) => `${await tokenOf(context)} and so on `.repeat(4_000) }),
    refuse: tool({
      ...one,
      run: async (context) => {
        const token = await tokenOf(context);
        throw new Error(`refused ${token} ${"x".repeat(1_965)} ${token}`);
      },
    }),
    exists: tool({
      ...one,
      run: async (context) => {
        throw new Error(`${await tokenOf(context)} was used before`);
      },
      onExists: (error) => ({ as: String(error) }),
    }),
    named: tool({ ...one, key: () => "sk-ant-api03-0123456789abcdefghij", run: () => "never" }),
    picky: tool({
      ...one,
      run: async (context) => ({ card: "4242 4242", of: await tokenOf(context) }),
      redact: (value, of) => {
        if (of === "result") throw new Error("it cannot say");
        return value;
      },
    }),
    pay: tool({ ...one, effect: "unsafe", approval: () => `it costs ${TOKEN}`, run: () => "paid" }),
    lose: tool({
      ...one,
      effect: "unsafe",
      run: async (context) => {
        throw new OutcomeUnknown(`it is not known what became of ${await tokenOf(context)}`);
      },
    }),
  };
}

const STEPS = ["echo", "large", "refuse", "exists", "named", "picky", "pay", "lose"] as const;

/** A model that knows the secret, too, and repeats it everywhere. */
const next = ({ calls }: Conversation) => {
  const step = STEPS[calls.length];
  const text = `I use ${TOKEN} with ${AWS_ID}`;
  return step === undefined ? { text } : { text, calls: [{ tool: step, args: { token: TOKEN } }] };
};

const leaky = (seen: ToolInputs): Agent =>
  defineAgent({
    ...{ name: "leaky", version: "1", instructions: "", task: z.object({ url: z.string().optional() }) },
    model: scriptedModel({ name: "talkative", reply: next }),
    tools: toolsOf(seen),
    secrets: ["AIRLINE_TOKEN"],
    retention: { archive: "warm" },
    done: [
      {
        name: "twice",
        holds: ({ text }) => (seen.inputs.push(text), seen.inputs.length > 2 || `not yet with ${TOKEN}`),
      },
    ],
    result: ({ calls }) => ({ first: calls[0]?.result ?? null, token: TOKEN }),
  }) as Agent;

/** Its model fails with the secret in its message, and so does the run. */
const failing = defineAgent({
  ...{ name: "failing", version: "1", instructions: "", task: z.object({}), tools: {} },
  model: scriptedModel({
    name: "broken",
    reply: () => {
      throw new Error(`401: ${TOKEN} is not valid`);
    },
  }),
  secrets: ["AIRLINE_TOKEN"],
}) as Agent;

/** Sends all kinds of messages while the run waits at the gate of `pay`. */
async function actAsOperator(world: World, { run, born }: Payload): Promise<void> {
  await send(world, { run, text: `use ${TOKEN}, ${base64(TOKEN)}`, by: TOKEN, id: TOKEN });
  await assign(world, { run, to: TOKEN, by: TOKEN });
  const value = { kind: "inline", json: { token: TOKEN } } as const;
  const body = { kind: "child", child: "local-child", status: "completed", value, spent: NOTHING_SPENT } as const;
  await deliver(world, { run, born, message: { id: "child#1", sentAt: world.clock.now(), body } });
  alarm(world, run, { what: "Odd", why: `it says ${TOKEN}` });
}

interface SecretRun {
  readonly run: string;
  readonly edit: string;
  readonly input: string;
  /** The routes of the beats before messages, and of the last beat. */
  readonly routes: readonly string[];
}

/** Runs from start to end, with a death during the first call. */
export async function runWithSecret(world: World, seen: Pick<ToolInputs, "tokens" | "inputs">): Promise<SecretRun> {
  const first = killableWorld(world);
  const died = Promise.withResolvers<void>();
  const die = (): void => {
    first.kill();
    died.resolve();
  };
  const agent = leaky({ ...seen, die });
  const asked = { agent, input: { url: `https://x.test/${TOKEN}` }, tenant: "local", idempotencyKey: "k" };
  const refused = await startRun(world, asked);
  const payload = await beginRun(world, agent, {});
  const { run } = payload;
  void attemptBeat(runnerOf(first.world, agent), payload);
  await died.promise;
  const runner = runnerOf(world, agent);
  const again = await attemptBeat(runner, payload, 1);
  if (again.kind !== "beat") throw new Error("the second attempt ended its process");
  const atGate = await drive(runner, again.reply);
  await actAsOperator(world, payload);
  const gate = (await show(world, run))?.gates[0]?.gate ?? "";
  const said = { run, gate, args: null, by: TOKEN, note: `fine, with ${TOKEN}` };
  const edited = await decide(world, { ...said, as: "edit", args: { token: TOKEN } });
  await decide(world, { ...said, as: "approve" });
  const blocked = await drive(runner, atGate);
  const answer = { run, call: "c8", as: "succeeded", by: TOKEN, note: TOKEN, result: { token: TOKEN } } as const;
  await reconcile(world, answer);
  const end = await drive(runner, blocked);
  const other = await beginRun(world, failing, {});
  await drive(runnerOf(world, failing), other);
  return {
    run,
    edit: edited.kind === "refused" ? edited.why : edited.kind,
    input: refused.kind === "invalid" ? refused.why : refused.kind,
    routes: [atGate.route, blocked.route, end.route],
  };
}
