/** The messages between editor and session, which Python declares, and the transport that carries them. */
import type { PreviewRequest as PreviewParams, Request, Response, SessionEvent } from './protocol.generated';

export * from './protocol.generated';

export type PreviewRequest = Required<PreviewParams> & { focus: { node: string; output: number }[] };
export type Bytes = DataView | ArrayBuffer;
export type ConnectionStatus = 'connecting' | 'connected' | 'disconnected';
export type Message = Request | Response | SessionEvent;

/** Carries messages to a session and back; every host makes one. */
export interface Transport {
  send(message: Message, buffers?: ArrayBuffer[]): void;
  onMessage(listener: (message: Message, buffers: Bytes[]) => void): () => void;
  onStatus(listener: (status: ConnectionStatus, detail?: string) => void): () => void;
  dispose(): void;
}
