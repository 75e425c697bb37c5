import { expect, test } from "vitest";
import { reportRevoked, type Revoking } from "../../../../src/control-plane/store/sql/login-requests.ts";

test("keys that a transaction revokes are forgotten after it, whichever other one ends before it", async () => {
  const reported: string[] = [];
  const slow = Promise.withResolvers<Revoking<string>>();
  const first = reportRevoked(slow.promise, () => reported.push("first"));
  const second = reportRevoked(Promise.resolve({ result: "nothing to revoke" }), () => reported.push("second"));
  expect(await second).toEqual({ result: "nothing to revoke" });
  expect(reported).toEqual([]);
  slow.resolve({ result: "done", revoked: 2 });
  expect((await first).result).toBe("done");
  expect(reported).toEqual(["first"]);
});

test("they are forgotten after a failure too: the transaction may have taken place", async () => {
  const reported: string[] = [];
  const failed = reportRevoked(Promise.reject(new Error("the connection is lost")), () => reported.push("failed"));
  await expect(failed).rejects.toThrow("the connection is lost");
  expect(reported).toEqual(["failed"]);
});
