/**
 * Runs a Lambda function in its own process: imports its handler, then takes invocations from the Lambda Runtime API
 * (2018-06-01), one after the other. Errors have Lambda's own shapes and names, since a state machine retries by name.
 */
import { existsSync } from "node:fs";
import http from "node:http";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

type Handler = (event: unknown, context: unknown) => unknown;

const { env } = process;
const [hostname, port] = (env["AWS_LAMBDA_RUNTIME_API"] ?? "").split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
// A pipe is synchronous: everything is written before the process can end.
const write = process.stdout.write.bind(process.stdout);
let requestId = "";

for (const [method, level] of Object.entries({
  debug: "DEBUG",
  log: "INFO",
  info: "INFO",
  warn: "WARN",
  error: "ERROR",
})) {
  const print = (...words: readonly unknown[]): void =>
    void write(`${new Date().toISOString()}\t${requestId}\t${level}\t${format(...words).replaceAll("\n", "\r")}\n`);
  Object.assign(console, { [method]: print });
}
process.on("uncaughtException", (error) => void fatal(error));
process.on("unhandledRejection", (reason) => void fatal(named("Runtime.UnhandledPromiseRejection", String(reason))));

const handler = await load().catch(fatal);
// This process is frozen or killed in the end and never exits, which is when Node would write what it compiled.
flushCompileCache();
for (;;) {
  const { headers, body } = await api("GET", "invocation/next").catch(gone);
  requestId = headerOf(headers, "aws-request-id");
  const [route, answer] = await invoke(handler, { headers, body });
  // Tells the executor that everything this invocation printed is written.
  write(`\0END ${requestId}\n`);
  await api("POST", `invocation/${requestId}/${route}`, answer).catch(gone);
}

async function load(): Promise<Handler> {
  const [module = "", name = ""] = (env["_HANDLER"] ?? "").split(".");
  const file = join(env["LAMBDA_TASK_ROOT"] ?? "", `${module}.mjs`);
  if (!existsSync(file)) throw named("Runtime.ImportModuleError", `Error: Cannot find module '${module}'`);
  const loaded = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  if (typeof loaded[name] === "function") return loaded[name] as Handler;
  throw named("Runtime.HandlerNotFound", `${env["_HANDLER"]} is undefined or not exported`);
}

interface Received {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

async function invoke(call: Handler, { headers, body }: Received): Promise<readonly [route: string, answer: string]> {
  const deadline = Number(headerOf(headers, "deadline-ms"));
  const context = {
    functionName: env["AWS_LAMBDA_FUNCTION_NAME"],
    functionVersion: env["AWS_LAMBDA_FUNCTION_VERSION"],
    memoryLimitInMB: env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"],
    invokedFunctionArn: headerOf(headers, "invoked-function-arn"),
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    return ["response", JSON.stringify((await call(JSON.parse(body), context)) ?? null)];
  } catch (error) {
    console.error("Invoke Error", error);
    return ["error", shapeOf(error)];
  }
}

function headerOf(headers: http.IncomingHttpHeaders, name: string): string {
  return String(headers[`lambda-runtime-${name}`]);
}

function api(method: string, route: string, body?: string): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
  const path = `/2018-06-01/runtime/${route}`;
  const request = http.request({ hostname, port, agent, method, path, headers: length }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    response.on("error", reject);
  });
  request.on("error", reject).end(body);
  return promise;
}

/** Ends the process when LocalStack is gone. */
function gone(): never {
  process.exit(0);
}

async function fatal(error: unknown): Promise<never> {
  console.error(error);
  const route = requestId === "" ? "init/error" : `invocation/${requestId}/error`;
  try {
    await api("POST", route, shapeOf(error));
  } finally {
    process.exit(1);
  }
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

function shapeOf(error: unknown): string {
  const { name, message, stack = "" } = error instanceof Error ? error : named(typeof error, String(error));
  return JSON.stringify({ errorType: name, errorMessage: message, trace: stack.split("\n") });
}
