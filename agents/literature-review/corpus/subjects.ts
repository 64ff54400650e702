/**
 * What the papers of the corpus write about: eight subjects, each with figures that they measure and questions that
 * they answer. A question has two answers, because studies disagree, and a reason why they may do so.
 * More than 400 lines: it is a table of texts.
 */

/** A figure, and what it comes to in each setting. */
export interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly digits: 0 | 1;
  readonly settings: readonly { readonly words: string; readonly from: number; readonly to: number }[];
}

/** A question that studies answer with yes or no, in words of their own. */
export interface Question {
  readonly yes: readonly string[];
  readonly no: readonly string[];
  /** What may explain that studies disagree. */
  readonly because: string;
}

export interface Subject {
  readonly name: string;
  readonly titles: readonly string[];
  readonly measures: readonly Measure[];
  readonly questions: readonly Question[];
  readonly limits: readonly string[];
}

export const SUBJECTS: readonly Subject[] = [
  {
    name: "recovery time after a crash",
    titles: [
      "Resuming Long Runs: Recovery Time after a Crash",
      "How Long Is a Crash? Measuring the Recovery Time of Durable Programs",
      "Flat Recovery: Restarting Programs in the Middle",
    ],
    measures: [
      {
        name: "median recovery time after a kill",
        unit: "seconds",
        digits: 1,
        settings: [
          { words: "from snapshots", from: 0.4, to: 2.6 },
          { words: "by replaying the whole log", from: 9, to: 48 },
        ],
      },
      {
        name: "share of crashes with an unattended recovery",
        unit: "percent",
        digits: 1,
        settings: [
          { words: "under fencing tokens", from: 96, to: 99.8 },
          { words: "under leases alone", from: 71, to: 89 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "a snapshot at each step boundary makes the recovery time independent of the length of the run",
          "the recovery time stays flat however long the run is, as long as each step boundary has a snapshot",
          "with a snapshot at each step boundary, the recovery time does not depend on the length of the run",
        ],
        no: [
          "the recovery time grows with the length of the run although each step boundary has a snapshot",
          "a snapshot at each step boundary does not keep the recovery time flat, and it grows with the length of the run",
        ],
        because: "whether the transcript is a part of each snapshot or is stored beside it",
      },
      {
        yes: [
          "most of the recovery time passes while the replacement process starts",
          "the start of the replacement process takes most of the recovery time",
        ],
        no: [
          "most of the recovery time passes while the stored state is read, and not while the replacement process starts",
          "reading the stored state takes most of the recovery time, and the start of the replacement process little of it",
        ],
        because: "the size of the transcripts, which ranges from a few kilobytes to many megabytes",
      },
    ],
    limits: [
      "all crashes were induced, and real machines fail in less orderly ways",
      "the recovery time was observed by the replacement process and not by a user",
    ],
  },
  {
    name: "overhead of recording each step",
    titles: [
      "What a Write-Ahead Record Costs: The Overhead of Recording Each Step",
      "Recording Steps at Low Overhead",
      "Before the Call: Overhead and Use of Intent Records",
    ],
    measures: [
      {
        name: "recording overhead per step",
        unit: "milliseconds",
        digits: 1,
        settings: [
          { words: "on a local disk", from: 1.1, to: 6.4 },
          { words: "on storage in three zones", from: 14, to: 57 },
        ],
      },
      {
        name: "share of step time spent on records",
        unit: "percent",
        digits: 1,
        settings: [
          { words: "in runs that call a model", from: 0.3, to: 2.4 },
          { words: "in runs of cheap tools", from: 11, to: 37 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "recording the intent before each call costs less than a hundredth of the model calls that it protects",
          "the price of recording the intent before each call is below a hundredth of that of the protected model calls",
        ],
        no: [
          "recording the intent before each call costs more than it protects where calls only read",
          "for calls that only read, recording the intent before each call costs more than it protects",
        ],
        because: "the mix of steps, because some workloads call a model in each step and others rarely",
      },
      {
        yes: [
          "one record per step holds all that recovery needs, also when a step makes several calls",
          "recovery needs no more than one record per step, even for steps with several calls",
        ],
        no: [
          "one record per step is too little for recovery, because it hides which of several calls took effect",
          "recovery needs a record per call, because one record per step hides which of several calls took effect",
        ],
        because: "how many calls with effects a step makes side by side",
      },
    ],
    limits: [
      "the overhead was measured on idle machines",
      "no store with more than one region took part in the measurement of the overhead",
    ],
  },
  {
    name: "duplicate effects and idempotency keys",
    titles: [
      "Once Is Enough: Idempotency Keys against Duplicate Effects",
      "Duplicate Effects in the Wild",
      "Keys from Intents: Preventing Duplicate Effects after Crashes",
    ],
    measures: [
      {
        name: "number of duplicate effects per 10,000 crashes",
        unit: "effects",
        digits: 0,
        settings: [
          { words: "with idempotency keys", from: 1, to: 9 },
          { words: "without idempotency keys", from: 180, to: 910 },
        ],
      },
      {
        name: "share of services that honoured a repeated key",
        unit: "percent",
        digits: 0,
        settings: [
          { words: "among payment services", from: 91, to: 99 },
          { words: "among mail services", from: 22, to: 48 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "idempotency keys that derive from the intent prevent nearly all duplicate effects after a crash",
          "nearly all duplicate effects after a crash are prevented by idempotency keys that derive from the intent",
        ],
        no: [
          "idempotency keys that derive from the intent leave many duplicate effects, because services forget keys after a day",
          "many duplicate effects remain in spite of idempotency keys that derive from the intent, since services forget keys after a day",
        ],
        because: "how long the services remember a key, compared with the length of an outage",
      },
      {
        yes: [
          "a probe of the external service resolves unknown outcomes as reliably as idempotency keys do",
          "unknown outcomes are resolved by a probe of the external service as reliably as by idempotency keys",
        ],
        no: [
          "a probe of the external service resolves fewer unknown outcomes than idempotency keys do, because it often comes too early",
          "fewer unknown outcomes are resolved by a probe of the external service than by idempotency keys, as it often comes too early",
        ],
        because: "the time that the experiments waited between the crash and the probe",
      },
    ],
    limits: [
      "duplicate effects were counted by the services, and two services could not tell a repeat from a new order",
      "only services with a public test mode were part of the study",
    ],
  },
  {
    name: "leases and fencing of stale workers",
    titles: [
      "Fencing Stale Workers",
      "The Worker That Woke Up: Leases, Pauses and Fencing",
      "Leases Are Not Enough: Stale Workers in Long Runs",
    ],
    measures: [
      {
        name: "number of stale writes per million leases",
        unit: "writes",
        digits: 0,
        settings: [
          { words: "with fencing in the store", from: 1, to: 4 },
          { words: "with expiry of leases alone", from: 60, to: 420 },
        ],
      },
      {
        name: "longest pause of a live worker",
        unit: "seconds",
        digits: 0,
        settings: [
          { words: "on shared machines", from: 38, to: 140 },
          { words: "on dedicated machines", from: 3, to: 17 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "leases alone do not stop stale workers, because a paused process does not notice that its lease has expired",
          "stale workers are not stopped by leases alone, since a paused process does not notice an expired lease",
        ],
        no: [
          "leases alone stop stale workers, provided that a process checks its lease before each write",
          "stale workers are stopped by leases alone if each process checks its lease before a write",
        ],
        because: "the pauses of the machines, which some studies induced and others only awaited",
      },
      {
        yes: [
          "short leases get stale workers replaced sooner and cost next to nothing",
          "stale workers are replaced sooner under short leases, at next to no cost",
        ],
        no: [
          "short leases cost more in false takeovers than they save by replacing stale workers sooner",
          "under short leases, false takeovers cost more than replacing stale workers sooner saves",
        ],
        because: "the load of the machines, since a busy worker renews its lease late",
      },
    ],
    limits: [
      "pauses of the hypervisor could not be told from pauses of the process",
      "the stores were chosen for their conditional writes, and many stores in use have none",
    ],
  },
  {
    name: "summaries of long contexts",
    titles: [
      "Forgetting Well: Summaries of Long Contexts in Agents",
      "What a Summary Loses: Long Contexts and Later Decisions",
      "Bounded Contexts for Unbounded Runs",
    ],
    measures: [
      {
        name: "reduction of the context per request",
        unit: "percent",
        digits: 0,
        settings: [
          { words: "with summaries of old messages", from: 48, to: 83 },
          { words: "with shortened observations alone", from: 19, to: 44 },
        ],
      },
      {
        name: "loss of task success",
        unit: "percent",
        digits: 1,
        settings: [
          { words: "with one summary of the context", from: 0.2, to: 1.9 },
          { words: "with five summaries of the context in a row", from: 4.5, to: 14 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "a cheaper model writes summaries of long contexts that are as useful as those of the main model",
          "summaries of long contexts by a cheaper model are as useful as those by the main model",
        ],
        no: [
          "summaries of long contexts by a cheaper model lose identifiers that the main model would have kept",
          "a cheaper model writes summaries of long contexts without identifiers that the main model would have kept",
        ],
        because: "whether the prompt for the summary asks for names, numbers and identifiers",
      },
      {
        yes: [
          "storing large observations outside of the context and reading parts on demand loses no accuracy",
          "no accuracy is lost when large observations are stored outside of the context and read in parts on demand",
        ],
        no: [
          "storing large observations outside of the context loses accuracy, because models rarely read a second part",
          "accuracy is lost when large observations are stored outside of the context, as models rarely read a second part",
        ],
        because: "whether the instructions tell the model to search an observation before it cites it",
      },
    ],
    limits: [
      "the tasks had one right answer, and open questions may suffer more from summaries",
      "one family of models wrote all the summaries",
    ],
  },
  {
    name: "money saved by resuming instead of restarting",
    titles: [
      "The Price of Starting Over: Money Saved by Resuming",
      "Resume or Restart? An Account of Money and Time",
      "Paying Twice: Duplicate Spend after Lost Runs",
    ],
    measures: [
      {
        name: "share of money saved by resuming",
        unit: "percent",
        digits: 0,
        settings: [
          { words: "in multi-hour runs", from: 74, to: 93 },
          { words: "in runs below ten minutes", from: 8, to: 31 },
        ],
      },
      {
        name: "share of runs that users abandoned",
        unit: "percent",
        digits: 1,
        settings: [
          { words: "where restarting was the only way", from: 24, to: 46 },
          { words: "where resuming was possible", from: 1.4, to: 4.9 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "resuming saves money in all runs that are longer than a few minutes",
          "money is saved by resuming in every run that is longer than a few minutes",
        ],
        no: [
          "resuming saves money only in runs that are longer than an hour, because shorter ones are restarted as cheaply",
          "money is saved by resuming only in runs that are longer than an hour, since shorter ones are restarted as cheaply",
        ],
        because: "the price of the model, which fell by an order of magnitude between the studies",
      },
      {
        yes: [
          "budgets of money stay exact over any number of interruptions if each reply is debited in its commit",
          "if each reply is debited in its commit, budgets of money stay exact over any number of interruptions",
        ],
        no: [
          "budgets of money drift under interruptions even if each reply is debited in its commit, because lost replies were paid for",
          "lost replies were paid for, so budgets of money drift under interruptions even if each reply is debited in its commit",
        ],
        because: "whether calls whose reply was lost are counted at an estimate",
      },
    ],
    limits: [
      "prices of models changed during the study, and we converted all amounts to those of its first month",
      "the savings do not count the time of the engineers",
    ],
  },
  {
    name: "operators who reconcile unknown outcomes",
    titles: [
      "Asking a Human: Operators and Unknown Outcomes",
      "Unknown Outcomes at Night: A Field Study of Operators",
      "When the Outcome Is Unknown: Reconciling by Hand",
    ],
    measures: [
      {
        name: "median time to reconcile an outcome",
        unit: "minutes",
        digits: 0,
        settings: [
          { words: "with the request and its key on one page", from: 3, to: 9 },
          { words: "with logs alone", from: 21, to: 66 },
        ],
      },
      {
        name: "share of wrong decisions by operators",
        unit: "percent",
        digits: 1,
        settings: [
          { words: "during the day", from: 0.4, to: 2.2 },
          { words: "on call at night", from: 3.1, to: 9.4 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "operators decide unknown outcomes better than an automatic retry does",
          "unknown outcomes are decided better by operators than by an automatic retry",
        ],
        no: [
          "operators decide unknown outcomes no better than an automatic retry with idempotency keys",
          "unknown outcomes are decided no better by operators than by an automatic retry with idempotency keys",
        ],
        because: "whether the services in the study honoured idempotency keys",
      },
      {
        yes: [
          "blocking a run until an operator answers is acceptable to its users if they can see why it waits",
          "users accept that a run is blocked until an operator answers if they can see why it waits",
        ],
        no: [
          "users abandon a run that is blocked until an operator answers, also if they can see why it waits",
          "a run that is blocked until an operator answers is abandoned by its users even if they can see why it waits",
        ],
        because: "how long the operators took to answer",
      },
    ],
    limits: [
      "the operators knew that they took part in a study",
      "only outcomes that an operator had looked at could be judged",
    ],
  },
  {
    name: "draining workers during a deploy",
    titles: [
      "Deploys without Losses: Draining Workers of Long Runs",
      "Drain, Then Kill: Workers in Rolling Deploys",
      "A Deploy Is a Crash with Notice",
    ],
    measures: [
      {
        name: "number of model calls lost during a deploy",
        unit: "calls",
        digits: 1,
        settings: [
          { words: "with a drain first", from: 0.1, to: 0.4 },
          { words: "with an immediate kill", from: 1.4, to: 5.8 },
        ],
      },
      {
        name: "median time to drain a worker",
        unit: "seconds",
        digits: 0,
        settings: [
          { words: "at step boundaries", from: 4, to: 28 },
          { words: "at the end of whole runs", from: 900, to: 5200 },
        ],
      },
    ],
    questions: [
      {
        yes: [
          "draining workers to a step boundary makes a deploy invisible to users",
          "a deploy is invisible to users if workers are drained to a step boundary",
        ],
        no: [
          "draining workers to a step boundary leaves a deploy visible to users, because new workers start with cold caches",
          "a deploy stays visible to users although workers are drained to a step boundary, as new workers start with cold caches",
        ],
        because: "how warm the caches of new workers were",
      },
      {
        yes: [
          "a system that survives crashes needs no drain, and a deploy may simply kill its workers",
          "no drain is needed by a system that survives crashes, so a deploy may simply kill its workers",
        ],
        no: [
          "draining workers pays off even in a system that survives crashes, because each killed call to a model is paid twice",
          "even a system that survives crashes gains from draining workers, since each killed call to a model is paid twice",
        ],
        because: "the share of calls to a model, each of which is paid for although its reply is lost",
      },
    ],
    limits: [
      "the deploys were scheduled for quiet hours",
      "a drain of more than a thousand workers at once was not observed",
    ],
  },
];
