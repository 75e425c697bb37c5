import { expect, onTestFinished, test } from "vitest";
import { createCode } from "../../../src/control-plane/accounts/one-time-link.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { Browser } from "../../support/browser.ts";
import { startControlPlane } from "../../support/control-plane.ts";

const PASSWORD = "a long way to the pump house";
const OTHER_PASSWORD = "rain over the reservoir today";

async function setUp() {
  const control = await startControlPlane();
  onTestFinished(() => control[Symbol.asyncDispose]());
  const { code, hash, secret } = createCode(systemClock, "setup", {});
  await control.store.users.issueCode(code, hash, undefined);
  const admin = new Browser(control);
  const body = { code: secret, account_name: "Water works", email: "ada@example.com", password: PASSWORD };
  expect(await admin.call("POST", "/v1/setup", body)).toMatchObject({ status: 201 });
  return { control, admin };
}

test("a change of the password that is still hashing does not overwrite a reset that was accepted meanwhile", async () => {
  const { control, admin } = await setUp();
  const { users } = control.store;
  const ada = (await users.findUserByEmail("ada@example.com"))!;
  const { code, hash, secret } = createCode(systemClock, "reset", { accountId: ada.accountId, userId: ada.id });
  await users.issueCode(code, hash, undefined);
  const changeUser = users.changeUser.bind(users);
  const honest = new Browser(control);
  // The last step of the change, after both hashes.
  users.changeUser = async (...call) => {
    users.changeUser = changeUser;
    const acceptance = { code: secret, password: "the password of the reset" };
    expect(await honest.call("POST", "/v1/invitations", acceptance)).toMatchObject({ status: 201 });
    return changeUser(...call);
  };
  const change = { current_password: PASSWORD, password: OTHER_PASSWORD };
  expect(await admin.call("PUT", "/v1/session/password", change)).toMatchObject({ status: 401 });
  expect(await honest.call("GET", "/v1/session")).toMatchObject({ status: 200 });
  expect(await admin.call("GET", "/v1/session")).toMatchObject({ status: 401 });
  const signIn = { email: "ada@example.com", password: OTHER_PASSWORD };
  expect(await new Browser(control).call("POST", "/v1/session", signIn)).toMatchObject({ status: 401 });
});

test.each([
  ["removed", 404, "UserNotFound"],
  ["disabled", 409, "UserDisabled"],
] as const)("a reset for somebody who is %s meanwhile makes no link", async (change, status, code) => {
  const { control, admin } = await setUp();
  const { body } = await admin.call("POST", "/v1/users", { email: "bob@example.com", role: "viewer" });
  const { id } = body["user"] as { id: string };
  const { users } = control.store;
  const issueCode = users.issueCode.bind(users);
  users.issueCode = async (...call) => {
    users.issueCode = issueCode;
    if (change === "removed") expect(await admin.call("DELETE", `/v1/users/${id}`)).toMatchObject({ status: 204 });
    else expect(await admin.call("PATCH", `/v1/users/${id}`, { disabled: true })).toMatchObject({ status: 200 });
    return issueCode(...call);
  };
  expect(await admin.call("POST", `/v1/users/${id}/reset`)).toMatchObject({ status, body: { code } });
});
