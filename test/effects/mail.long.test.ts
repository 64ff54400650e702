import { createTransport } from "nodemailer";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type MailEffectOptions,
  type MailSender,
  mailEffect,
  mailName,
  sesSender,
  smtpSender,
} from "../../src/effects/index.ts";
import type { Probe } from "../../src/ports/agent.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { type Mail, startSes, startSmtp } from "../support/services/mail-server.ts";
import { duplicatesIn, serviceView } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

const input = z.object({ to: z.string(), text: z.string() });
const TWO = [
  { to: "ada@example.org", text: "one" },
  { to: "bob@example.org", text: "two" },
];
const one = { input: { to: "ada@example.org", text: "one" } };
const DOMAIN = "cairn.example";

interface Mailbox {
  readonly mails: readonly Mail[];
  readonly reset: () => void;
}

/** A tool that sends mail, and the mailbox as the kit sees it. */
function mailing(box: Mailbox, sender: MailSender, options: Partial<MailEffectOptions<typeof input>> = {}) {
  const keys = new Map<string, string>();
  const act = mailEffect({
    ...{ input, sender, domain: DOMAIN },
    message: ({ input: { to, text }, key }) => {
      keys.set(mailName(key, DOMAIN).tag, key);
      return { from: "office@example.org", to, text, subject: `Re: ${text}` };
    },
    ...options,
  });
  const service = serviceView({
    name: "mailbox",
    reset: box.reset,
    effects: () =>
      box.mails.map(({ tag, to, subject }) => ({
        ...{ key: keys.get(tag) ?? "", input: { to, subject }, result: null, undone: false },
      })),
  });
  return { act, options: { input: {}, services: [service] } };
}

const inMailbox =
  ({ mails }: Mailbox) =>
  ({ tag }: { readonly tag: string }): Probe => {
    const found = mails.find((mail) => mail.tag === tag);
    return found === undefined ? { kind: "absent" } : { kind: "happened", result: { id: found.messageId } };
  };

describe("a mail through SMTP", () => {
  test("is sent once, with a kill at each fault point", async () => {
    const smtp = await startSmtp();
    const { act, options } = mailing(smtp, smtpSender(smtp.transport));
    const { points, uninterrupted } = await everyFaultPoint(callingAgent({ act, args: TWO }), options);
    expect(points).toContain("after:effect:act#2");
    expect(uninterrupted.effects).toHaveLength(2);
  });

  test("is unsafe: an operator says what a kill left open, and 0 mails are duplicates", async () => {
    const smtp = await startSmtp();
    const { act, options } = mailing(smtp, smtpSender(smtp.transport));
    const run = await killAt(callingAgent({ act, args: TWO }), "after:effect:act", options);
    expect(run.decided).toEqual(["confirmed"]);
    expect(run.calls.map(({ effect }) => effect)).toEqual(["unsafe", "unsafe"]);
    expectEffectsOnce(run);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("is not sent again when its answer is lost", async () => {
    const smtp = await startSmtp({ fault: ({ nth }) => (nth === 1 ? "answerLost" : "none") });
    const { act, options } = mailing(smtp, smtpSender(smtp.transport));
    const run = await runAgent(callingAgent({ act, args: TWO }), options);
    expect(run.decided).toEqual(["confirmed"]);
    expect(duplicatesIn(run.effects)).toBe(0);
    expect(run.effects).toHaveLength(2);
  });

  test("is probed where its user can search for it, and sent once with a kill at each fault point", async () => {
    const smtp = await startSmtp();
    const { act, options } = mailing(smtp, smtpSender(smtp.transport), { probe: inMailbox(smtp) });
    const { points } = await everyFaultPoint(callingAgent({ act, args: TWO }), options);
    expect(points).toContain("after:effect:act#2");
    const run = await killAt(callingAgent({ act, args: TWO }), "after:effect:act", options);
    expect(run.decided).toEqual([]);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("has the same Message-ID in every attempt", async () => {
    const smtp = await startSmtp();
    const { act } = mailing(smtp, smtpSender(smtp.transport));
    const sent = await act.run(callContext(one));
    await act.run(callContext({ ...one, epoch: 2, attempt: 2 }));
    const { messageId } = mailName("act-c1-key", DOMAIN);
    expect(smtp.mails.map((mail) => mail.messageId)).toEqual([messageId, messageId]);
    expect(messageId).toMatch(/^<[0-9a-f]{40}@cairn\.example>$/);
    expect(sent).toEqual({ id: messageId, messageId, rejected: [] });
  });

  test.each(["refused", "recipientRefused"] as const)("has failed when it is %s", async (fault) => {
    const smtp = await startSmtp({ fault: () => fault });
    const { act } = mailing(smtp, smtpSender(smtp.transport));
    await expect(act.run(callContext(one))).rejects.toMatchObject({ name: "Error", message: /not here/ });
    expect(smtp.mails).toEqual([]);
  });

  test("has failed when there is no server", async () => {
    const smtp = await startSmtp();
    const transport = createTransport({ host: "127.0.0.1", port: 1 });
    const { act } = mailing(smtp, smtpSender(transport));
    await expect(act.run(callContext(one))).rejects.not.toMatchObject({ name: "OutcomeUnknown" });
  });

  test("is not given to a pool that sends it again", () => {
    expect(() => smtpSender(createTransport({ host: "127.0.0.1", pool: true }))).toThrow(
      "this pool of nodemailer sends a message again when its connection breaks: create it with maxRequeues: 0",
    );
    smtpSender(createTransport({ host: "127.0.0.1", pool: true, maxRequeues: 0 }));
  });
});

describe("a mail through SES", () => {
  test("is sent once, with a kill at each fault point", async () => {
    const ses = await startSes();
    const { act, options } = mailing(ses, sesSender(ses.client));
    const { points } = await everyFaultPoint(callingAgent({ act, args: TWO }), options);
    expect(points).toContain("after:effect:act#2");
    const run = await killAt(callingAgent({ act, args: TWO }), "after:effect:act", options);
    expect(run.calls.map(({ effect }) => effect)).toEqual(["unsafe", "unsafe"]);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("is named by a header and a tag, because SES replaces its Message-ID", async () => {
    const ses = await startSes();
    const { act } = mailing(ses, sesSender(ses.client));
    expect(await act.run(callContext(one))).toEqual({ id: "ses-1", messageId: "ses-1", rejected: [] });
    const { tag } = mailName("act-c1-key", DOMAIN);
    expect(ses.emails).toMatchObject([
      {
        EmailTags: [{ Name: "cairn-key", Value: tag }],
        Content: { Simple: { Headers: [{ Name: "X-Cairn-Key", Value: tag }], Body: { Text: { Data: "one" } } } },
      },
    ]);
  });

  test("is an unknown outcome when its answer is lost, and has failed when it is refused", async () => {
    const ses = await startSes({ fault: ({ nth }) => (nth === 1 ? "answerLost" : "refused") });
    const { act } = mailing(ses, sesSender(ses.client));
    await expect(act.run(callContext(one))).rejects.toMatchObject({ name: "OutcomeUnknown" });
    await expect(act.run(callContext(one))).rejects.toMatchObject({ name: "MessageRejected" });
    expect(ses.mails).toHaveLength(1);
  });

  test("is refused before it leaves when the client would send it again by itself", async () => {
    const ses = await startSes({ maxAttempts: 3 });
    const { act } = mailing(ses, sesSender(ses.client));
    await expect(act.run(callContext(one))).rejects.toThrow("create it with maxAttempts: 1");
    expect(ses.mails).toEqual([]);
  });
});
