import { Checkbox, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { Deployment } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./asset.module.css";
import { type TabProps, useDeployments } from "./asset-queries.ts";

/** Everything that was requested for the device's apps, newest first. Checks have changed nothing, so they are hidden at first. */
export function DeploymentsTab({ asset }: TabProps): ReactNode {
  const [showsChecks, setShowsChecks] = useState(false);
  const query = useDeployments(asset.uuid);
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const all = pages.flatMap(({ deployments }) => deployments);
        const checks = all.filter(({ dry_run: isDryRun }) => isDryRun).length;
        const list = showsChecks ? all : all.filter(({ dry_run: isDryRun }) => !isDryRun);
        if (all.length === 0)
          return (
            <Empty title="Nothing has been deployed yet.">
              Each deployment, update and restart is listed here for 90 days.
            </Empty>
          );
        return (
          <Stack gap="sm">
            {checks > 0 && (
              <Checkbox
                label={`Show checks, which change nothing (${checks})`}
                checked={showsChecks}
                onChange={({ currentTarget }) => setShowsChecks(currentTarget.checked)}
              />
            )}
            {list.length === 0 && <Text size="sm">Nothing but checks so far.</Text>}
            <div className={classes.scroll} hidden={list.length === 0}>
              <table className={classes.list}>
                <thead>
                  <tr>
                    <th scope="col">Requested</th>
                    <th scope="col">What</th>
                    <th scope="col">How it went</th>
                  </tr>
                </thead>
                <tbody>
                  {list.map((deployment) => (
                    <Row key={deployment.deployment_id} assetId={asset.uuid} deployment={deployment} />
                  ))}
                </tbody>
              </table>
            </div>
            {query.hasNextPage && (
              <PendingButton
                variant="default"
                loading={query.isFetchingNextPage}
                onClick={() => void query.fetchNextPage()}
              >
                Show older ones
              </PendingButton>
            )}
            <Text size="xs" c="dimmed">
              As of <Age at={query.dataUpdatedAt / 1000} />.
            </Text>
          </Stack>
        );
      }}
    </Loaded>
  );
}

function Row({ assetId, deployment }: { readonly assetId: string; readonly deployment: Deployment }): ReactNode {
  const { deployment_id: id, app, action, dry_run: isDryRun, message, created_at: createdAt } = deployment;
  return (
    <tr>
      <td>
        <Age at={createdAt} />
      </td>
      <td>
        <Link to={`/assets/${assetId}/deployments/${id}`}>
          {isDryRun ? "check of " : ""}
          {action} <SafeText text={app} />
        </Link>
      </td>
      <td>
        <DeploymentStatus deployment={deployment} />
        <div>
          <SafeText text={message} max={300} />
        </div>
      </td>
    </tr>
  );
}

const STATUSES = {
  Running: { kind: "warn", icon: "clock", label: "under way" },
  Success: { kind: "good", icon: "check", label: "done" },
  Fail: { kind: "bad", icon: "cross", label: "failed" },
} as const;
/** A check is told apart from what has changed the device. */
const CHECK_STATUSES = {
  Running: { kind: "warn", icon: "clock", label: "check under way" },
  Success: { kind: "none", icon: "info", label: "check: it would work" },
  Fail: { kind: "warn", icon: "alert", label: "check: it would fail" },
} as const;

/** How a deployment ended by word, icon and colour. */
export function DeploymentStatus({
  deployment,
}: {
  readonly deployment: Pick<Deployment, "status" | "code" | "dry_run">;
}): ReactNode {
  const { kind, icon, label } = (deployment.dry_run ? CHECK_STATUSES : STATUSES)[deployment.status];
  return (
    <span className={classes.state} data-kind={kind}>
      <Icon name={icon} size={16} />
      {label}
      {deployment.code !== undefined && `: ${deployment.code}`}
    </span>
  );
}
