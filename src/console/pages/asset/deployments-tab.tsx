import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Deployment } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./asset.module.css";
import type { TabProps } from "./tab-props.ts";
import { useDeployments } from "./asset-queries.ts";

/** Everything that was requested for the device's apps, newest first. */
export function DeploymentsTab({ asset }: TabProps): ReactNode {
  const query = useDeployments(asset.uuid);
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const list = pages.flatMap(({ deployments }) => deployments);
        if (list.length === 0)
          return (
            <Empty title="Nothing has been deployed yet.">
              Each deployment, update and restart is listed here for 90 days.
            </Empty>
          );
        return (
          <Stack gap="sm">
            <div className={classes.scroll}>
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

/** How a deployment ended by word, icon and colour. */
export function DeploymentStatus({
  deployment,
}: {
  readonly deployment: Pick<Deployment, "status" | "code">;
}): ReactNode {
  const { kind, icon, label } = STATUSES[deployment.status];
  return (
    <span className={classes.state} data-kind={kind}>
      <Icon name={icon} size={16} />
      {label}
      {deployment.code !== undefined && `: ${deployment.code}`}
    </span>
  );
}
