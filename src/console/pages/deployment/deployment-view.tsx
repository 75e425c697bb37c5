import { Button, Group, Progress as Bar, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { call } from "../../api/client.ts";
import { type ApiFailure, toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { formatDuration, formatTime } from "../../parts/durations.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Loading } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { DeploymentFailure } from "./deployment-failure.tsx";
import classes from "./deployment.module.css";
import { followDeployment } from "./follow-deployment.ts";
import { type Download, fractionOf, NO_PROGRESS, type Progress, type ProgressLine, secondsLeft } from "./progress.ts";

interface Props {
  readonly assetId: string;
  readonly deploymentId: string;
  /** What can be done after a failure or a success. */
  readonly actions?: ReactNode;
  readonly onEnd?: (isSuccess: boolean) => void;
}

/** A deployment as it goes on: each step, the download, and how it ended with what to do. */
export function DeploymentView({ assetId, deploymentId, actions, onEnd }: Props): ReactNode {
  const { progress, link, refused } = useDeployment(assetId, deploymentId, onEnd);
  if (refused) return <FailureNote failure={refused} />;
  if (progress.lastSeq === 0) return <Loading label="Loading the deployment" />;
  return (
    <Stack gap="md">
      {link && (
        <Note kind="warn" title="The link to the service is lost.">
          The deployment goes on without it. This page takes it up again by itself.
        </Note>
      )}
      {progress.final ? (
        <Outcome progress={progress} />
      ) : (
        <Running assetId={assetId} deploymentId={deploymentId} progress={progress} />
      )}
      {progress.final && actions !== undefined && <Group gap="xs">{actions}</Group>}
      <Lines progress={progress} />
    </Stack>
  );
}

function Running({
  assetId,
  deploymentId,
  progress,
}: Omit<Props, "actions"> & { readonly progress: Progress }): ReactNode {
  const last = progress.lines.at(-1);
  return (
    <section className={classes.now} aria-label="Under way">
      <Group justify="space-between" wrap="nowrap" align="start">
        <div role="status">
          <Text fw={600}>{stepText(progress.step)}</Text>
          {last && !progress.download && (
            <Text size="sm" component="div">
              <SafeText text={last.message} />
            </Text>
          )}
        </div>
        <Cancel assetId={assetId} deploymentId={deploymentId} />
      </Group>
      {progress.download && <DownloadBar download={progress.download} />}
      {progress.waitingUntil !== undefined && (
        <Text size="sm">
          It waits until {formatTime(progress.waitingUntil)} (<Age at={progress.waitingUntil} />
          ).
        </Text>
      )}
    </section>
  );
}

function DownloadBar({ download }: { readonly download: Download }): ReactNode {
  const fraction = fractionOf(download);
  const left = secondsLeft(download);
  const { done, total, bytesPerSecond, cuts } = download;
  const parts = [
    total > 0 ? `${formatBytes(done)} of ${formatBytes(total)}` : formatBytes(done),
    bytesPerSecond === undefined ? "" : `${formatBytes(Math.round(bytesPerSecond))}/s`,
    left === undefined ? "" : `${formatDuration(left)} left`,
    cuts === 0 ? "" : `link cut ${cuts === 1 ? "once" : `${cuts} times`}, taken up again`,
  ];
  return (
    <div>
      <Bar value={100 * (fraction ?? 0)} aria-label="Download" size="lg" mt="xs" />
      <Text size="sm" mt={4}>
        {parts.filter((part) => part !== "").join(" · ")}
      </Text>
    </div>
  );
}

function Outcome({ progress: { final } }: { readonly progress: Progress }): ReactNode {
  if (!final) return null;
  if (final.status === "Success")
    return (
      <Note kind="good" title={<SafeText text={final.message} />}>
        Ended <Age at={final.timestamp} />.
      </Note>
    );
  return <DeploymentFailure event={final} />;
}

function Lines({ progress: { lines, droppedLines } }: { readonly progress: Progress }): ReactNode {
  return (
    <section aria-labelledby="steps">
      <Title order={2} id="steps" mb="xs">
        Steps
      </Title>
      {droppedLines > 0 && <Text size="sm">{droppedLines} earlier lines left out</Text>}
      <ol className={classes.lines}>
        {lines.map((line) => (
          <Line key={line.seq} line={line} />
        ))}
      </ol>
    </section>
  );
}

function Line({ line }: { readonly line: ProgressLine }): ReactNode {
  const { app, message, at } = line;
  const step = line.status === "Running" ? stepText(line.step) : ENDS[line.status];
  return (
    <li className={classes.line}>
      <time dateTime={new Date(at * 1000).toISOString()} title={formatTime(at)}>
        {new Date(at * 1000).toLocaleTimeString("en-GB")}
      </time>
      <span className={classes.step}>{app === undefined ? step : `${app}: ${step}`}</span>
      <SafeText text={message} max={2000} />
    </li>
  );
}

function Cancel({ assetId, deploymentId }: Pick<Props, "assetId" | "deploymentId">): ReactNode {
  const mayCancel = usePermission("deployments.cancel");
  const [isAsking, setAsking] = useState(false);
  const cancel = useMutation({
    mutationFn: () =>
      call("DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}", {
        path: { asset_id: assetId, deployment_id: deploymentId },
      }),
    onSuccess: () => setAsking(false),
  });
  if (!mayCancel) return null;
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setAsking(true)} disabled={cancel.isSuccess}>
        {cancel.isSuccess ? "Cancelling …" : "Cancel"}
      </Button>
      <Confirm
        isOpen={isAsking}
        title="Cancel the deployment?"
        action="Cancel the deployment"
        isPending={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
        onClose={() => setAsking(false)}
      >
        The device returns to what it had before.
      </Confirm>
    </>
  );
}

interface Followed {
  readonly progress: Progress;
  readonly link: ApiFailure | undefined;
  readonly refused: ApiFailure | undefined;
}

function useDeployment(assetId: string, deploymentId: string, onEnd: Props["onEnd"]): Followed {
  const [state, setState] = useState<Followed>({ progress: NO_PROGRESS, link: undefined, refused: undefined });
  const client = useQueryClient();
  const isSuccess = state.progress.final ? state.progress.final.status === "Success" : undefined;
  useEffect(() => {
    const controller = new AbortController();
    setState({ progress: NO_PROGRESS, link: undefined, refused: undefined });
    const listener = {
      onProgress: (progress: Progress) => setState((now) => ({ ...now, progress })),
      onLink: (link: ApiFailure | undefined) => setState((now) => ({ ...now, link })),
      onRefused: (refused: ApiFailure) => setState((now) => ({ ...now, refused })),
    };
    followDeployment(assetId, deploymentId, listener, controller.signal).catch((error: unknown) => {
      listener.onRefused(toFailure(error));
    });
    return () => controller.abort();
  }, [assetId, deploymentId]);
  useEffect(() => {
    if (isSuccess === undefined) return;
    void client.invalidateQueries({ queryKey: KEYS.asset(assetId) });
    onEnd?.(isSuccess);
    // Once for each end.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isSuccess, assetId, client]);
  return state;
}

const ENDS = { Success: "Done", Fail: "Failed" } as const;

const STEPS: Readonly<Record<string, string>> = {
  received: "Received",
  checking: "Checking",
  pulling: "Downloading",
  creating: "Creating",
  starting: "Starting",
  verifying: "Verifying",
  stopping: "Stopping",
  removing: "Removing",
  rolling_back: "Rolling back",
  done: "Done",
};

/** A step in words. Unknown steps keep the service's name. */
function stepText(step: string): string {
  return STEPS[step] ?? step;
}
