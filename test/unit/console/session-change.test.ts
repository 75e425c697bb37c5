import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { KEYS } from "../../../src/console/api/keys.ts";
import { forgetOthers } from "../../../src/console/api/session-change.ts";
import type { Session } from "../../../src/protocol/api-types.ts";
import { nextPath } from "../../../src/console/session/after-sign-in.ts";

const session = (account: string, principal: string): Session =>
  ({ account: { id: account, name: account }, principal: { id: principal, name: principal } }) as Session;

it.each([
  ["the same person", session("x", "p"), ["van"]],
  ["another person of the account", session("x", "q"), undefined],
  ["another account", session("y", "p"), undefined],
])("keeps what was fetched only for the same person: %s", (_name, next, kept) => {
  const client = new QueryClient();
  client.setQueryData(KEYS.session, session("x", "p"));
  client.setQueryData(["asset-list"], ["van"]);
  forgetOthers(client, next);
  expect(client.getQueryData(["asset-list"])).toEqual(kept);
  client.clear();
});

it.each(["/\t/evil", "/\n/evil", "//evil", "/\\evil", "https://evil"])("does not go to %j after a sign-in", (next) => {
  expect(nextPath(new URLSearchParams({ next }))).toBe("/overview");
});
