/** The page: one conversation with the agent `support`, named by the address. It survives reloads and kills. */
import { useChat } from "@ai-sdk/react";
import { type ChatTransport, type UIMessage, getToolName, isToolUIPart } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { hasToSend } from "./has-to-send.ts";
import { endAnswer, openChat } from "./transport.ts";

interface ChatProps {
  readonly id: string;
  readonly before: UIMessage[];
  readonly transport: ChatTransport<UIMessage>;
}

function Chat({ id, before, transport }: ChatProps) {
  const [text, setText] = useState("");
  const { messages, status, error, sendMessage, regenerate, addToolApprovalResponse } = useChat({
    ...{ id, transport, messages: before, resume: before.length > 0 },
    sendAutomaticallyWhen: hasToSend,
  });
  const isBusy = status === "submitted" || status === "streaming";
  const decide = (gate: string, approved: boolean) => void addToolApprovalResponse({ id: gate, approved });
  return (
    <main>
      <header>
        <h1>Support</h1>
        <button type="button" onClick={() => location.assign(`#${crypto.randomUUID()}`)}>
          New conversation
        </button>
      </header>
      <div role="log" aria-busy={isBusy}>
        {messages.map(({ id: key, role, parts }) => (
          <article key={key} className={role}>
            {parts.map((part, index) => (
              <Part key={index} part={part} decide={decide} />
            ))}
          </article>
        ))}
      </div>
      {error === undefined ? null : (
        <div role="alert">
          {error.message}{" "}
          <button type="button" onClick={() => void regenerate()}>
            Try again
          </button>
        </div>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") void sendMessage({ text });
          setText("");
        }}
      >
        <input
          autoFocus
          aria-label="Message"
          placeholder="My lamp of order A-2 never came. Please refund it."
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void endAnswer(`/chat/support/${id}`)}>
          Stop
        </button>
      </form>
    </main>
  );
}

interface PartProps {
  readonly part: UIMessage["parts"][number];
  readonly decide: (gate: string, approved: boolean) => void;
}

/** A text, or a call of a tool. In your product an employee decides, not the customer: see README.md. */
function Part({ part, decide }: PartProps) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`;
  if (part.state !== "approval-requested") return <div className="call">{`${call}: ${STATES[part.state]}`}</div>;
  const gate = part.approval.id;
  return (
    <div className="call">
      {`${call} needs an approval`}
      <button type="button" onClick={() => decide(gate, true)}>
        Approve
      </button>
      <button type="button" onClick={() => decide(gate, false)}>
        Deny
      </button>
    </div>
  );
}

const STATES = {
  ...{ "input-streaming": "begins", "input-available": "under way", "approval-responded": "decided" },
  ...{ "output-available": "done", "output-denied": "denied", "output-error": "failed" },
} as const;

// The name of the conversation is a part of the address, so a reload shows the same one.
if (location.hash === "") history.replaceState(null, "", `#${crypto.randomUUID()}`);
addEventListener("hashchange", () => location.reload());
const id = location.hash.slice(1);
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no element with the ID root");
createRoot(root).render(<Chat id={id} {...await openChat(`/chat/support/${id}`)} />);
