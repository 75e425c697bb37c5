import type { Value } from "../documents/value.ts";
import { readDuration } from "./quantities.ts";
import { refuseUnknown } from "./unknown.ts";
import type { Converter } from "./service.ts";

const KEYS = ["test", "interval", "timeout", "retries", "start_period", "start_interval", "disable"];

export const convertHealthcheck: Converter = (value, service) => {
  const fields = value.fields();
  refuseUnknown(fields, KEYS);
  fields.get("start_interval")?.note("has no effect here: `interval` applies from the start.");
  const test = fields.get("test");
  if (fields.get("disable")?.boolean() || isNone(test)) {
    service.set("no_healthcheck", true, value.place);
    return;
  }
  if (!test) {
    value.refuse("needs `test`: times alone do not change the check of the image.");
    return;
  }
  const command = commandOf(test);
  if (!command) return;
  const [interval, timeout, start] = ["interval", "timeout", "start_period"].map((key) => {
    const duration = fields.get(key);
    const seconds = duration && readDuration(duration);
    if (seconds === undefined || seconds >= 1 || key === "start_period") return seconds;
    // As in compose, 0 is the default.
    if (seconds === 0) return undefined;
    duration?.note("is 1s here, the shortest.");
    return 1;
  });
  const retries = fields.get("retries")?.wholeNumber();
  const check = {
    command,
    ...(interval !== undefined && { interval_s: interval }),
    ...(timeout !== undefined && { timeout_s: timeout }),
    ...(retries !== undefined && { retries }),
    ...(start !== undefined && { start_period_s: start }),
  };
  service.set("healthcheck", check, value.place);
};

/** `test: NONE`, alone or in a list. */
function isNone(test: Value | undefined): boolean {
  const node = test?.node.kind === "list" && test.node.items.length === 1 ? test.node.items[0] : test?.node;
  return node?.kind === "scalar" && node.value === "NONE";
}

function commandOf(test: Value): string[] | undefined {
  if (!test.isList) {
    const text = test.text();
    return text === undefined ? undefined : ["/bin/sh", "-c", text];
  }
  const [kind, ...rest] = test.items().map((item) => item.text() ?? "");
  if (kind === "CMD" && rest.length > 0) return rest;
  if (kind === "CMD-SHELL" && rest.length === 1) return ["/bin/sh", "-c", ...rest];
  return test.refuse('must be a text, ["CMD", PROGRAM, …] or ["CMD-SHELL", COMMAND].');
}
