import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../control-plane.ts";
import { someLedgerDay } from "../control-plane/device-samples.ts";
import { FakeDevice } from "../fake-device.ts";
import { EmnifySimulator } from "../sim-operators/emnify-simulator.ts";
import { type SimulatedSuperSim, SuperSimSimulator } from "../sim-operators/super-sim-simulator.ts";
import { type EdgectlUser, edgectlUser } from "./process.ts";

export const SERIAL = "GW-2026-000123";
const SID = `HS${"0f".repeat(16)}`;
export const SUPER_ICCID = "8988307000001234567";
const PRO_ICCID = "8988303000001234575";
const IMSI = "295050912345679";
/** The middle of a month, so that no test is at its end, and after today: edgectl shows no ages in its own time. */
const START_MS = Date.UTC(2100, 0, 15, 12);
/** The day of what the tests count. */
const DAY = "2100-01-15";

/** A service with both operators' simulators, an asset with both SIMs, and a user of edgectl. */
export interface SimRig extends AsyncDisposable {
  readonly kore: SuperSimSimulator;
  readonly emnify: EmnifySimulator;
  /** The Super SIM at its operator. */
  readonly superSim: SimulatedSuperSim;
  readonly plane: ControlPlane;
  readonly account: TestAccount;
  readonly user: EdgectlUser;
  readonly deviceToken: string;
  /** Runs edgectl with the account's key. */
  run(...args: string[]): ReturnType<EdgectlUser["run"]>;
  start(...args: string[]): ReturnType<EdgectlUser["start"]>;
  /** Runs it with `--json`, which must succeed, and returns its document. */
  json(...args: string[]): Promise<unknown>;
  /** Sets what the Super SIM has used this month at its operator. */
  use(megabytes: number): void;
  /** Time passes for the service, so that what it has asked lately is old. */
  passTime(seconds: number): void;
}

export async function startSimRig(): Promise<SimRig> {
  await using owner = new AsyncDisposableStack();
  const aheadMs = START_MS - systemClock.now();
  let passedMs = 0;
  const timeOfDay = (): number => systemClock.now() + aheadMs + passedMs;
  const monotonic = (): number => systemClock.monotonic() + passedMs;
  const clock: Clock = {
    ...systemClock,
    now: timeOfDay,
    timeOfDay,
    deletionTime: timeOfDay,
    monotonic,
    sinceBoot: monotonic,
  };
  const kore = owner.use(await SuperSimSimulator.start(clock));
  const emnify = owner.use(await EmnifySimulator.start(clock));
  kore.addFleet("default_1gb", 1000);
  kore.addFleet("default_10gb", 10_000);
  const superSim = kore.addSim({ sid: SID, iccid: SUPER_ICCID });
  emnify.addSim({ iccid: PRO_ICCID, imsi: IMSI, serviceProfile: "gold" });
  const { accountSid, authToken } = kore;
  const superSims = new SuperSimOperator({ url: kore.url, credentials: { accountSid, authToken }, clock });
  const { applicationToken } = emnify;
  const proSims = new EmnifyOperator({ url: emnify.url, applicationToken, clock });
  const simOperators = {
    listServed: async () => ["supersim", "prosim"] as const,
    find: async (_account: string, type: string) => (type === "supersim" ? superSims : proSims),
  };
  const plane = owner.use(await startControlPlane({ clock, simOperators }));
  const account = await plane.account();
  const { deviceToken } = await plane.asset(account, {
    serialNumber: SERIAL,
    name: "Pump house 7",
    supersim: { sid: SID, iccid: SUPER_ICCID, networkGroup: "default_1gb", status: "active" },
    prosim: { imsi: IMSI, iccid: PRO_ICCID, serviceProfile: "gold", status: "active" },
  });
  const user = owner.use(await edgectlUser());
  const env = { EDGECTL_URL: plane.url, EDGECTL_API_KEY: account.apiKey };
  for (const type of ["supersim", "prosim"]) {
    const refresh = `${plane.url}/v1/assets/${SERIAL}/sims/${type}/refresh`;
    const { status } = await fetch(refresh, { method: "POST", headers: { "X-API-Key": account.apiKey } });
    if (status !== 200) throw new Error(`the ${type} cannot be read: ${status}`);
  }
  const owned = owner.move();
  return {
    kore,
    emnify,
    superSim,
    plane,
    account,
    user,
    deviceToken,
    run: (...args) => user.run(args, { env }),
    start: (...args) => user.start(args, { env }),
    async json(...args) {
      const { code, stdout, stderr } = await user.run([...args, "--json"], { env });
      if (code !== 0 || stderr !== "") throw new Error(`edgectl ${args.join(" ")} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as unknown;
    },
    use: (megabytes) => kore.use(SID, START_MS / 1000, megabytes * 1_000_000),
    passTime: (seconds) => (passedMs += seconds * 1000),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A connected device that has counted so many bytes of its agent. */
export async function connectLedger({ plane, deviceToken }: SimRig, bytes: number): Promise<FakeDevice> {
  const device = await FakeDevice.connect(plane.agentUrl, deviceToken);
  const answer = async (): Promise<void> => {
    while (!device.isClosed) {
      // It rejects while nobody asks anything.
      const query = await device.next("query").catch(() => undefined);
      if (query?.what !== "data_usage") continue;
      device.answer(query.query_id, { days: [someLedgerDay(DAY, bytes / 2)], deployments: [], budget: null });
    }
  };
  void answer();
  return device;
}
