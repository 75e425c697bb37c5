import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type { OperatorSim, SimOperator } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { FastClock } from "../../support/fast-clock.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { freePort } from "../../support/free-port.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { waitFor } from "../../support/wait-for.ts";

const { signal } = new AbortController();
const SID = `HS${"0c".repeat(16)}`;
const SIM: OperatorSim = {
  type: "supersim",
  iccid: "8988307000001234567",
  operatorId: SID,
  state: { status: "active", networkGroup: "default_1gb" },
};
const range = { start: Date.UTC(2026, 10, 1) / 1000, end: Date.UTC(2026, 11, 1) / 1000 };

let kore: SuperSimSimulator;
let operator: SuperSimOperator;
beforeEach(async () => {
  kore = await SuperSimSimulator.start();
  onTestFinished(() => kore[Symbol.asyncDispose]());
  kore.addFleet("default_1gb");
  kore.addSim({ sid: SID, iccid: SIM.iccid });
  operator = operatorAt(kore.url);
});

function operatorAt(url: string, clock: Clock = new IdleClock()): SuperSimOperator {
  const { accountSid, authToken } = kore;
  return new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock });
}

function emnifyAt(url: string, clock: Clock = new IdleClock()): EmnifyOperator {
  return new EmnifyOperator({ url, applicationToken: "a-secret-text", clock });
}

async function failureOf(asked: SimOperator, sim: OperatorSim): Promise<Error> {
  return asked.findSim(sim, signal).then(
    () => new Error("nothing failed"),
    (cause: Error) => cause,
  );
}

/** A server that is no operator. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([301, 302, 307, 308])("a redirect (%i) is not followed, and asked for once", async (status) => {
  let visits = 0;
  const elsewhere = await serve((_request, response) => void (visits++, response.end("{}")));
  kore.fail(/Sims/, { kind: "status", status, headers: { Location: `${elsewhere}/v1/Sims/${SID}` } });
  const found = operator.findSim(SIM, signal);
  await expect(found).rejects.toMatchObject({ failure: "refused", message: `it answered ${status}` });
  expect([visits, kore.count()]).toEqual([0, 1]);
});

test("a text that is no SID is never sent: the operator would take it for a name that somebody gave", async () => {
  for (const operatorId of ["name-of-another", "../Fleets", `${SID}0`]) {
    const sim = { ...SIM, operatorId };
    expect(await operator.findSim(sim, signal)).toBeUndefined();
    const calls = [
      operator.change(sim, { status: "inactive" }, signal),
      operator.change(sim, { status: "active" }, signal),
      operator.readUsage(sim, range, "day", signal),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ failure: "not_found" });
  }
  expect(kore.count()).toBe(0);
});

test("the operator's words are passed on without what a terminal would obey, and not at any length", async () => {
  const message = `\u001b[2J${"no ".repeat(1_000)}`;
  const url = await serve((_request, response) => response.writeHead(400).end(JSON.stringify({ message })));
  const error = await failureOf(operatorAt(url), SIM);
  expect(error.message).toMatch(/^it answered 400: \u{fffd}\[2Jno no /u);
  expect(error.message).not.toContain("\u001b");
  expect(error.message.length).toBeLessThan(300);
});

test("an answer without end is cut off", async () => {
  let sent = 0;
  let isClosed = false;
  const url = await serve((_request, response) => {
    const chunk = Buffer.alloc(1024 * 1024, " ");
    const write = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    response.on("drain", write).on("close", () => (isClosed = true));
    write();
  });
  const found = operatorAt(url, systemClock).findSim(SIM, signal);
  await expect(found).rejects.toMatchObject({ failure: "malformed" });
  await waitFor("the connection to be closed", async () => isClosed);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test("an answer that comes byte by byte has ten seconds", async () => {
  const url = await serve((_request, response) => {
    const timer = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(timer));
  });
  const found = operatorAt(url, new FastClock(50)).findSim(SIM, signal);
  await expect(found).rejects.toMatchObject({ failure: "unavailable", message: "it did not answer within 10 s" });
});

test("a port where nobody listens is an operator that is down", async () => {
  const found = operatorAt(`http://127.0.0.1:${await freePort()}`).findSim(SIM, signal);
  await expect(found).rejects.toMatchObject({ failure: "unavailable", message: "it cannot be reached" });
});

test("who reads after a change does not get what was read before it", async () => {
  // In real time: what is held back must not time out.
  operator = operatorAt(kore.url, systemClock);
  kore.holdNext(/GET \/v1\/Sims/);
  const before = operator.findSim(SIM, signal);
  await waitFor("the read to arrive", async () => kore.held > 0);
  await operator.change(SIM, { status: "inactive" }, signal);
  expect(await operator.findSim(SIM, signal)).toMatchObject({ status: "inactive" });
  kore.release();
  expect(await before).toMatchObject({ status: "active" });
});

describe("a request for a token", () => {
  test.each([
    [401, { error_token: "Unauthorized" }, "credentials", "401 (Unauthorized): the credentials are wrong or revoked"],
    [401, { error: "unauthorized_client" }, "credentials", "401 (unauthorized_client): the credentials are wrong"],
    [401, { error: "not a-secret-text" }, "credentials", "401: the credentials are wrong or revoked"],
    [404, "<html>", "credentials", "404: the credentials or the address are wrong"],
    [302, "", "refused", "302"],
    [500, "", "unavailable", "it answered 500"],
  ])("that is answered %i %j: %s, with the operator's words", async (status, body, failure, words) => {
    let asked = 0;
    const url = await serve((_request, response) => {
      asked++;
      response.writeHead(status, { Location: "http://127.0.0.1:1/" }).end(JSON.stringify(body));
    });
    const sim: OperatorSim = { ...SIM, type: "prosim" };
    const error = await failureOf(emnifyAt(url), sim);
    expect(error).toMatchObject({ name: "SimOperatorError", failure });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("secret-text");
    expect(asked).toBe(failure === "unavailable" ? 3 : 1);
  });

  test("that is answered with a token in HTML, or with none, is malformed", async () => {
    for (const body of ["<html>token</html>", "{}", '{"auth_token":""}', "[]"]) {
      const url = await serve((_request, response) => response.end(body));
      const found = emnifyAt(url).findSim({ ...SIM, type: "prosim" }, signal);
      await expect(found).rejects.toMatchObject({ failure: "malformed" });
    }
  });
});
