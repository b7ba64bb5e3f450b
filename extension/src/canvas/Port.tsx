/** A port: where links begin and end. */
import { Handle, Position } from '@xyflow/react';
import { t } from '../core/language';
import './Port.css';

interface PortProperties {
  id: string;
  type: 'source' | 'target';
  kind: string | undefined;
  label: string;
  argument?: boolean;
  used?: boolean;
}

export function Port({ id, type, kind = 'any', label, argument = false, used = true }: PortProperties) {
  return (
    <Handle
      id={id}
      type={type}
      position={type === 'source' ? Position.Right : Position.Left}
      className={`port kind-${kind} ${argument ? 'argument-port' : ''} ${used ? '' : 'unused'}`}
      data-port={id}
      role="img"
      title={argument ? t('%1: connect one value per sample', label) : label}
      aria-label={`${type === 'source' ? t('Output') : argument ? t('Argument') : t('Input')} ${label}`}
    />
  );
}
