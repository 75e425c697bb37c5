import { type ReactNode, useRef, useState } from "react";
import type { App } from "../../../protocol/api-types.ts";
import { shownState } from "../../../protocol/apps/shown-state.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import classes from "./asset.module.css";
import { useMutation, type UseMutationResult } from "@tanstack/react-query";
import { startDeployment } from "../deployment/start-deployment.ts";
import { Button, Group, Title } from "@mantine/core";
import { Link, useNavigate } from "react-router";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { type TabProps, useApps } from "./asset-queries.ts";

type Kind = "good" | "warn" | "bad" | "none";

const STATES: Readonly<Record<App["state"] | "finished", { readonly kind: Kind; readonly icon: IconName }>> = {
  running: { kind: "good", icon: "check" },
  finished: { kind: "good", icon: "check" },
  stopped: { kind: "none", icon: "pause" },
  restarting: { kind: "bad", icon: "alert" },
  unhealthy: { kind: "bad", icon: "alert" },
  missing: { kind: "bad", icon: "cross" },
};

/** The state of an app by word, icon and colour. */
function AppState({ app }: { readonly app: App }): ReactNode {
  const state = shownState(app);
  const { kind, icon } = STATES[state] ?? { kind: "warn", icon: "alert" };
  return (
    <span className={classes.state} data-kind={kind}>
      <Icon name={icon} size={16} />
      {state}
    </span>
  );
}

type AppAction = "start" | "stop" | "restart" | "remove";

/** Starts, stops, restarts or removes an app. `onStarted` is called with the id of the deployment. */
function useAppAction(
  assetId: string,
  app: string,
  onStarted: (deploymentId: string) => void,
): UseMutationResult<string, Error, AppAction> {
  // A repeated attempt after a lost answer must not become a second deployment.
  const keys = useRef<Partial<Record<AppAction, string>>>({});
  return useMutation({
    mutationFn: async (action) => {
      const key = (keys.current[action] ??= crypto.randomUUID());
      const path = { asset_id: assetId, name: app };
      if (action === "remove")
        return await startDeployment("DELETE /v1/assets/{asset_id}/edge/apps/{name}", { path }, key);
      return await startDeployment(`POST /v1/assets/{asset_id}/edge/apps/{name}/${action}`, { path }, key);
    },
    onSuccess: (id, action) => {
      delete keys.current[action];
      onStarted(id);
    },
  });
}

interface Props {
  readonly assetId: string;
  readonly app: App;
}

const MAX_SHOWN_LENGTH = 200;

/** An app with its state and what can be done with it. */
function AppCard({ assetId, app }: Props): ReactNode {
  const mayDeploy = usePermission("apps.deploy");
  const mayReadLogs = usePermission("logs.read");
  const path = `/assets/${assetId}/apps/${encodeURIComponent(app.name)}`;
  return (
    <>
      <Group justify="space-between" wrap="nowrap" align="start">
        <Title order={3}>
          <SafeText text={app.name} />
        </Title>
        <AppState app={app} />
      </Group>
      <AppFacts assetId={assetId} app={app} />
      <Group gap="xs" mt="auto">
        {mayReadLogs && (
          <Button component={Link} to={`${path}/log`} size="xs" variant="default">
            Log<span className="visually-hidden"> of {app.name}</span>
          </Button>
        )}
        {mayDeploy && (
          <>
            <Button component={Link} to={`${path}/update`} size="xs" variant="default">
              Update<span className="visually-hidden"> {app.name}</span>
            </Button>
            <AppActions assetId={assetId} app={app} />
          </>
        )}
      </Group>
    </>
  );
}

function AppFacts({ assetId, app }: Props): ReactNode {
  const last = app.last_deployment;
  return (
    <dl className={classes.facts}>
      <dt>Image</dt>
      <dd>
        <SafeText text={app.image} max={MAX_SHOWN_LENGTH} />
      </dd>
      {app.fleet && (
        <>
          <dt>Fleet</dt>
          <dd>
            <Link to={`/fleets/${encodeURIComponent(app.fleet.name)}`}>
              <SafeText text={app.fleet.name} max={63} />
            </Link>
            , revision {app.fleet.revision}
            {app.fleet.is_changed && ", changed since"}
          </dd>
        </>
      )}
      {app.paused !== undefined && (
        <>
          <dt>Not repaired</dt>
          <dd>
            <SafeText text={app.paused} max={MAX_SHOWN_LENGTH} />
          </dd>
        </>
      )}
      <dt>Since</dt>
      <dd>{app.since === null ? "not known" : <Age at={app.since} />}</dd>
      <dt>Restarts</dt>
      <dd>{app.restarts ?? "not known"}</dd>
      <dt>Ports</dt>
      <dd>{portsOf(app)}</dd>
      {last && (
        <>
          <dt>Last change</dt>
          <dd>
            <Link to={`/assets/${assetId}/deployments/${last.deployment_id}`}>
              {last.action}
              {last.status === "Fail" ? ` failed${last.code === undefined ? "" : `: ${last.code}`}` : ""}
            </Link>
            {last.finished_at !== null && (
              <>
                {" "}
                <Age at={last.finished_at} />
              </>
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

function portsOf({ ports, spec }: App): string {
  if (spec["host_network"] === true) return "those of the device's network";
  if (ports.length === 0) return "none";
  return ports
    .map(
      ({ host_port: host, target_port: target, protocol }) => `${host} → ${target}${protocol === "udp" ? " udp" : ""}`,
    )
    .join(", ");
}

const CONSEQUENCES: Readonly<Record<Exclude<AppAction, "start">, string>> = {
  stop: "It stays stopped, also after the device restarts, until it is started.",
  restart: "It is stopped and started again: it does not answer for that time.",
  remove: "Its container is removed from the device. Its volumes and directories stay, with their data.",
};

const LABELS: Readonly<Record<AppAction, string>> = {
  start: "Start",
  stop: "Stop",
  restart: "Restart",
  remove: "Remove",
};

function AppActions({ assetId, app }: Props): ReactNode {
  const [asked, setAsked] = useState<Exclude<AppAction, "start">>();
  const navigate = useNavigate();
  const action = useAppAction(assetId, app.name, (id) => void navigate(`/assets/${assetId}/deployments/${id}`));
  const isStopped = app.desired_state === "stopped";
  const button = (name: AppAction): ReactNode => (
    <PendingButton
      key={name}
      size="xs"
      variant="default"
      {...(name === "remove" && { c: "var(--console-bad)" })}
      loading={action.isPending && action.variables === name}
      onClick={() => {
        action.reset();
        if (name === "start") action.mutate(name);
        else setAsked(name);
      }}
    >
      {LABELS[name]}
      <span className="visually-hidden"> {app.name}</span>
    </PendingButton>
  );
  return (
    <>
      {(isStopped ? (["start", "remove"] as const) : (["restart", "stop", "remove"] as const)).map(button)}
      <Confirm
        isOpen={asked !== undefined}
        title={asked === undefined ? "" : `${LABELS[asked]} ${app.name}?`}
        action={asked === undefined ? "" : LABELS[asked]}
        isPending={action.isPending}
        error={action.error}
        onConfirm={() => asked !== undefined && action.mutate(asked)}
        onClose={() => setAsked(undefined)}
      >
        {asked !== undefined && CONSEQUENCES[asked]}
      </Confirm>
    </>
  );
}

/** The apps of the device, as it last reported them. */
export function AppsTab({ asset }: TabProps): ReactNode {
  const apps = useApps(asset.uuid);
  const mayDeploy = usePermission("apps.deploy");
  return (
    <Loaded query={apps}>
      {({ apps: list, reported_at: reportedAt }) =>
        list.length === 0 ? (
          <Empty
            title={reportedAt === null ? "The device has not reported yet." : "The device has no apps."}
            action={mayDeploy ? <Link to={`/assets/${asset.uuid}/deploy`}>Deploy an app</Link> : undefined}
          >
            {reportedAt === null
              ? "Its apps are shown as soon as it has connected once."
              : "Containers that were started by other means are not apps."}
          </Empty>
        ) : (
          <ul className={classes.cards}>
            {list.map((app) => (
              <li key={app.name} className={classes.card}>
                <AppCard assetId={asset.uuid} app={app} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
