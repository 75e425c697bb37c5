import { Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Device, DeviceState } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { Empty } from "../../parts/empty.tsx";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./asset.module.css";
import { type TabProps, useDevice } from "./asset-queries.ts";

/** The device itself. It is asked when the tab is opened, and on request: each question costs data. */
export function DeviceTab({ asset }: TabProps): ReactNode {
  const query = useDevice(asset.uuid);
  return (
    <Loaded query={query}>
      {(data) => (
        <Stack gap="lg">
          <Group gap="md">
            <Text size="sm">
              {data.live ? "Answered by the device " : "As the device last reported, "}
              {data.reported_at === null ? "never" : <Age at={data.reported_at} />}
              {!data.live && "; values that change all the time are left out."}
            </Text>
            <PendingButton size="xs" variant="default" loading={query.isFetching} onClick={() => void query.refetch()}>
              Ask again
            </PendingButton>
          </Group>
          <Facts response={data} />
        </Stack>
      )}
    </Loaded>
  );
}

function Facts({ response: { device, data_usage: usage } }: { readonly response: Device }): ReactNode {
  if (!device) return <Empty title="The device has not reported yet.">It does so when it has connected once.</Empty>;
  const state = "interfaces" in device ? device : undefined;
  const { engine, cpus } = device;
  const rows: readonly (readonly [string, string | null | undefined])[] = [
    [
      "Agent",
      [device.agent_version, state && `up for ${formatDuration(state.agent_uptime_s)}`].filter(Boolean).join(", "),
    ],
    ["Container engine", engine ? `${engine.kind} ${engine.version}` : "does not answer"],
    ["System", [device.os, device.kernel, device.architecture].filter(Boolean).join(", ")],
    ["Hardware", [device.model, cpus === null ? null : `${cpus} processors`].filter(Boolean).join(", ")],
    ["Host name", device.hostname],
    ["Up for", state?.uptime_s == null ? null : formatDuration(state.uptime_s)],
    ["Processors", state?.cpu_percent == null ? null : `${state.cpu_percent.toFixed(0)} % busy`],
    ["Temperature", state?.temperature_celsius == null ? null : `${state.temperature_celsius.toFixed(0)} °C`],
    ["Traffic today", usage.today ? `${formatBytes(trafficOf(usage.today))} by the agent` : null],
  ];
  return (
    <>
      <dl className={classes.facts}>
        {rows.map(
          ([name, value]) =>
            value !== null &&
            value !== undefined &&
            value !== "" && (
              <div key={name} style={{ display: "contents" }}>
                <dt>{name}</dt>
                <dd>
                  <SafeText text={value} />
                </dd>
              </div>
            ),
        )}
        <Usage name="Memory" free={state?.memory_available_bytes} total={device.memory_total_bytes} />
        <Usage name="Disk" free={state?.disk_free_bytes} total={device.disk_total_bytes} />
      </dl>
      {state && state.interfaces.length > 0 && <Interfaces interfaces={state.interfaces} />}
      {state && state.containers.length > 0 && <Containers containers={state.containers} />}
    </>
  );
}

interface UsageProps {
  readonly name: string;
  readonly free: number | null | undefined;
  readonly total: number | null;
}

function Usage({ name, free, total }: UsageProps): ReactNode {
  if (total === null) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {free === null || free === undefined ? (
          formatBytes(total)
        ) : (
          <>
            {formatBytes(free)} free of {formatBytes(total)}
            <br />
            <meter
              className={classes.meter}
              aria-label={`${name} in use`}
              min={0}
              max={total}
              high={total * 0.9}
              optimum={0}
              value={total - free}
            />
          </>
        )}
      </dd>
    </>
  );
}

function Interfaces({ interfaces }: Pick<DeviceState, "interfaces">): ReactNode {
  return (
    <section aria-labelledby="interfaces">
      <Title order={2} id="interfaces" mb="xs">
        Network
      </Title>
      <div className={classes.scroll}>
        <table className={classes.list}>
          <thead>
            <tr>
              <th scope="col">Interface</th>
              <th scope="col">Kind</th>
              <th scope="col">State</th>
              <th scope="col" data-number>
                Received
              </th>
              <th scope="col" data-number>
                Sent
              </th>
              <th scope="col">Addresses</th>
            </tr>
          </thead>
          <tbody>
            {interfaces.map(({ name, kind, is_up: isUp, received_bytes: received, sent_bytes: sent, addresses }) => (
              <tr key={name}>
                <td>
                  <SafeText text={name} />
                </td>
                <td>{kind}</td>
                <td>{isUp ? "up" : "down"}</td>
                <td data-number>{received === null ? "–" : formatBytes(received)}</td>
                <td data-number>{sent === null ? "–" : formatBytes(sent)}</td>
                <td>
                  <SafeText text={addresses.join(", ")} max={300} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Containers({ containers }: Pick<DeviceState, "containers">): ReactNode {
  return (
    <section aria-labelledby="containers">
      <Title order={2} id="containers" mb="xs">
        Containers, those of other programs included
      </Title>
      <div className={classes.scroll}>
        <table className={classes.list}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">App</th>
              <th scope="col">Status</th>
              <th scope="col">Image</th>
            </tr>
          </thead>
          <tbody>
            {containers.map(({ name, app, status, image }) => (
              <tr key={name}>
                <td>
                  <SafeText text={name} />
                </td>
                <td>{app === null ? "–" : <SafeText text={app} />}</td>
                <td>
                  <SafeText text={status} />
                </td>
                <td>
                  <SafeText text={image} max={200} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

type Today = NonNullable<Device["data_usage"]["today"]>;

function trafficOf({ by_purpose: purposes, overhead_estimate_bytes: overhead }: Today): number {
  const bytes = Object.values(purposes).reduce((sum, both) => sum + both.sent_bytes + both.received_bytes, 0);
  return bytes + overhead;
}
