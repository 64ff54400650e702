/** The AWS world of a test file whose services are a scripted server. */
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { awsClients } from "../../../src/adapters/aws/clients.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { awsWorld } from "../../../src/adapters/aws/world.ts";
import type { World } from "../../../src/ports/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { type AwsServer, startAwsServer, stubAwsEnvironment } from "./aws-server.ts";

const MACHINE = "arn:aws:states:eu-west-1:111122223333:stateMachine:cairn";

/** Starts a server for the tests of the file, and lets AWS clients use it. Its address is known in a test only. */
export function useAwsServer(): Omit<AwsServer, "close"> {
  let server: AwsServer;
  beforeAll(async () => {
    server = await startAwsServer();
  });
  afterAll(() => server.close());
  beforeEach(stubAwsEnvironment);
  afterEach(() => vi.unstubAllEnvs());
  return {
    get endpoint() {
      return server.endpoint;
    },
    get asked() {
      return server.asked;
    },
    answer: (...answers) => server.answer(...answers),
    answerWith: (respond) => server.answerWith(respond),
  };
}

/** A world at that address. `requestMs`: how long a request may take; by default longer than on a busy machine. */
export const awsWorldAt = (endpoint: string, requestMs = 60_000): World =>
  withKernel(
    awsWorld({
      ...{ table: "runs", bucket: "payloads", machine: MACHINE, limits: limitsFor(60_000) },
      telemetry: { record: () => undefined },
      clients: awsClients({ endpoint, requestMs }),
    }),
  );
