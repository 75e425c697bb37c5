import { describe, expect, it } from "vitest";
import { followUpdate, type HandedOver, type UpdateCourse } from "../../../../src/agent/core/updates/follow-update.ts";

const SEEN: HandedOver = {
  version: "1.1.0",
  attempt: 0,
  isCancelled: false,
  running: "package",
  current: undefined,
  pin: undefined,
  trial: undefined,
  setAside: undefined,
  answer: undefined,
  isOverdue: false,
};
const OK = { answer: { ok: true } };
const TRIAL = { version: "1.1.0", attempt: 1 };

describe("what becomes of an update after the release was handed over", () => {
  it.each<[string, Partial<HandedOver>, UpdateCourse]>([
    ["the updater is at work", {}, { kind: "wait" }],
    ["it has not answered in its time", { isOverdue: true }, { kind: "ask" }],
    ["it has refused", { answer: { ok: false } }, { kind: "refused" }],
    ["a trial begins", { ...OK, trial: TRIAL }, { kind: "on_trial", isNew: true }],
    ["a trial goes on", { trial: TRIAL, attempt: 1 }, { kind: "on_trial", isNew: false }],
    ["a trial is not wanted any more", { trial: TRIAL, isCancelled: true }, { kind: "abandon" }],
    // A request that was repeated after a power cut is refused as on trial: the trial counts, not the answer.
    ["a repeated request was refused", { trial: TRIAL, answer: { ok: false } }, { kind: "on_trial", isNew: true }],
    ["another release is on trial", { trial: { version: "2.0.0", attempt: 1 } }, { kind: "wait" }],
    ["it has confirmed", { current: "1.1.0", running: "1.1.0", attempt: 1 }, { kind: "confirmed" }],
    ["it has confirmed, and the restart is to come", { current: "1.1.0", attempt: 1 }, { kind: "wait" }],
    [
      "it has confirmed, and a person has pinned another one since",
      { current: "1.1.0", attempt: 1, pin: "package" },
      { kind: "back", reason: "pinned" },
    ],
    [
      "it has crashed before any version could look",
      { ...OK, setAside: { attempt: 1, reason: "crashed" } },
      { kind: "back", reason: "crashed" },
    ],
    [
      "it was not confirmed in time, and is tried again",
      { attempt: 1, setAside: { attempt: 1, reason: "unconfirmed" } },
      { kind: "tried_again" },
    ],
    [
      "it was not confirmed in time, and is cancelled meanwhile",
      { attempt: 1, isCancelled: true, setAside: { attempt: 1, reason: "unconfirmed" } },
      { kind: "back", reason: "unconfirmed" },
    ],
    [
      "it was not confirmed three times",
      { attempt: 3, setAside: { attempt: 3, reason: "unconfirmed" } },
      { kind: "back", reason: "unconfirmed" },
    ],
    [
      "its trial is over, and the restart into the version before is to come",
      { attempt: 1, running: "1.1.0", setAside: { attempt: 1, reason: "unconfirmed" } },
      { kind: "wait" },
    ],
    [
      "it is set aside, and a person has pinned it",
      { attempt: 1, running: "1.1.0", pin: "1.1.0", setAside: { attempt: 1, reason: "crashed" } },
      { kind: "back", reason: "crashed" },
    ],
    ["the package has replaced it", { attempt: 1 }, { kind: "back", reason: "replaced" }],
    // What an earlier update has left says nothing about this one.
    ["it was set aside before this update", { setAside: { attempt: 2, reason: "crashed" } }, { kind: "wait" }],
    [
      "it was cancelled, and the request is lost",
      { isCancelled: true, isOverdue: true },
      { kind: "back", reason: "cancelled" },
    ],
  ])("%s", (_what, seen, course) => {
    expect(followUpdate({ ...SEEN, ...seen })).toEqual(course);
  });
});
