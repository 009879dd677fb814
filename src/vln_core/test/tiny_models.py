# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny networks with random weights, saved as transformers saves real ones; only for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = 'a an the photo of sofa chair dining table bed lamp door room stands in left . , ? ; : < >'


def save(kind: str, folder: Path) -> Path:
    """Write network and processor of a kind into ``folder/kind`` and return that."""
    torch.manual_seed(0)
    network, processor = _BUILDERS[kind]()
    network.eval().save_pretrained(folder / kind)
    processor.save_pretrained(folder / kind)
    return folder / kind


def _tokenizer(length: int = 64, **special: Any) -> Any:
    # Grounding DINO knows its separators by BERT's numbers.
    vocabulary = {f'[unused{k}]': k for k in range(1100)}
    fixed = {'[PAD]': 0, '[UNK]': 100, '[CLS]': 101, '[SEP]': 102, '[MASK]': 103}
    fixed |= {'.': 1012, '?': 1029}
    fixed |= {w: 200 + k for k, w in enumerate(WORDS.split()) if w not in fixed}
    by_id = {k: token for token, k in vocabulary.items()} | {k: t for t, k in fixed.items()}
    tokenizer = Tokenizer(models.WordLevel({t: k for k, t in by_id.items()}, unk_token='[UNK]'))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single='[CLS] $A [SEP]', special_tokens=[('[CLS]', 101), ('[SEP]', 102)]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token='[UNK]',
        pad_token='[PAD]',
        cls_token='[CLS]',
        sep_token='[SEP]',
        bos_token='[CLS]',
        eos_token='[SEP]',
        mask_token='[MASK]',
        model_max_length=length,
        **special,
    )


def _swin() -> Any:
    return hf.SwinConfig(
        image_size=64,
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 4],
        window_size=2,
        out_features=['stage2', 'stage3', 'stage4'],
    )


def _dino(config_name: str, network_name: str) -> Any:
    config = getattr(hf, config_name)(
        backbone_config=_swin(),
        text_config=hf.BertConfig(
            vocab_size=1100,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,  # the head ties the boxes of the later layers to the first
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=20,
        num_feature_levels=4,
        max_text_len=256,
    )
    network = getattr(hf, network_name)(config)
    images = hf.GroundingDinoImageProcessor(size={'shortest_edge': 96, 'longest_edge': 160})
    return network, hf.GroundingDinoProcessor(images, _tokenizer(256))


def _owlv2() -> Any:
    text = {
        'vocab_size': 1100,
        'hidden_size': 32,
        'intermediate_size': 32,
        'num_hidden_layers': 1,
        'num_attention_heads': 2,
        'max_position_embeddings': 16,
        'pad_token_id': 0,
        'bos_token_id': 101,
        'eos_token_id': 102,
    }
    vision = {
        'hidden_size': 32,
        'intermediate_size': 32,
        'num_hidden_layers': 1,
        'num_attention_heads': 2,
        'image_size': 96,
        'patch_size': 16,
    }
    config = hf.Owlv2Config(text_config=text, vision_config=vision, projection_dim=32)
    images = hf.Owlv2ImageProcessor(size={'height': 96, 'width': 96})
    return hf.Owlv2ForObjectDetection(config), hf.Owlv2Processor(images, _tokenizer(16))


def _sam() -> Any:
    vision = {
        'hidden_size': 32,
        'output_channels': 16,
        'num_hidden_layers': 1,
        'num_attention_heads': 2,
        'image_size': 64,
        'patch_size': 8,
        'mlp_dim': 32,
        'window_size': 4,
        'global_attn_indexes': [0],
        'num_pos_feats': 8,
    }
    prompt = {
        'hidden_size': 16,
        'image_size': 64,
        'patch_size': 8,
        'image_embedding_size': 8,
        'mask_input_channels': 4,
    }
    decoder = {
        'hidden_size': 16,
        'mlp_dim': 32,
        'num_attention_heads': 2,
        'iou_head_hidden_dim': 16,
    }
    config = hf.SamConfig(
        vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
    )
    images = hf.SamImageProcessor(
        size={'longest_edge': 64},
        mask_size={'longest_edge': 16},
        pad_size={'height': 64, 'width': 64},
        mask_pad_size={'height': 16, 'width': 16},
    )
    return hf.SamModel(config), hf.SamProcessor(images)


def _sam2() -> Any:
    backbone = hf.Sam2HieraDetConfig(
        hidden_size=8,
        image_size=[128, 128],
        num_attention_heads=1,
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 4],
        window_size_per_stage=[4, 4, 4, 4],
        window_positional_embedding_background_size=[4, 4],
        global_attention_blocks=[3],  # as in real ones, not where a stage begins
    )
    vision = hf.Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=16,
    )
    prompt = hf.Sam2PromptEncoderConfig(
        hidden_size=16, image_size=128, patch_size=16, mask_input_channels=4
    )
    decoder = hf.Sam2MaskDecoderConfig(
        hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
    )
    config = hf.Sam2Config(
        vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
    )
    images = hf.Sam2ImageProcessor(
        size={'height': 128, 'width': 128}, mask_size={'height': 32, 'width': 32}
    )
    return hf.Sam2Model(config), hf.Sam2Processor(images)


def _instructblip() -> Any:
    small = {
        'hidden_size': 32,
        'intermediate_size': 32,
        'num_hidden_layers': 1,
        'num_attention_heads': 2,
    }
    config = hf.InstructBlipConfig(
        vision_config={**small, 'image_size': 32, 'patch_size': 8},
        qformer_config={
            **small,
            'vocab_size': 1100,
            'encoder_hidden_size': 32,
            'max_position_embeddings': 128,
        },
        text_config={
            'model_type': 'opt',
            'vocab_size': 1200,
            'hidden_size': 32,
            'ffn_dim': 32,
            'num_hidden_layers': 1,
            'num_attention_heads': 2,
            'word_embed_proj_dim': 32,
            'max_position_embeddings': 512,
            'pad_token_id': 0,
            'bos_token_id': 101,
            'eos_token_id': 102,
        },
        num_query_tokens=4,
        image_token_index=1100,
    )
    images = hf.BlipImageProcessor(size={'height': 32, 'width': 32})
    text = _tokenizer(400)
    text.add_special_tokens({'additional_special_tokens': ['<image>']})
    processor = hf.InstructBlipProcessor(images, text, _tokenizer(128), num_query_tokens=4)
    return hf.InstructBlipForConditionalGeneration(config), processor


def _florence2() -> Any:
    text = hf.BartConfig(
        vocab_size=1200,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=101,
        eos_token_id=102,
        decoder_start_token_id=102,
        forced_eos_token_id=102,
    )
    vision = hf.Florence2VisionConfig(
        depths=(1, 1, 1, 1),
        embed_dim=(8, 8, 16, 16),
        num_heads=(1, 1, 2, 2),
        num_groups=(1, 1, 2, 2),
        window_size=2,
        projection_dim=32,
    )
    config = hf.Florence2Config(
        text_config=text.to_dict(), vision_config=vision.to_dict(), image_token_id=1100
    )
    # 64 px become 2 x 2 patches and their mean.
    images = hf.CLIPImageProcessor(
        size={'height': 64, 'width': 64}, crop_size={'height': 64, 'width': 64}
    )
    images.image_seq_length = 5
    text_tokens = _tokenizer(128, extra_special_tokens={'image_token': '<image>'})
    return (
        hf.Florence2ForConditionalGeneration(config),
        hf.Florence2Processor(images, text_tokens),
    )


def _bert() -> Any:
    config = hf.BertConfig(
        vocab_size=1100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    return hf.BertModel(config), _tokenizer()


_BUILDERS = {
    'bert': _bert,
    'grounding_dino': lambda: _dino('GroundingDinoConfig', 'GroundingDinoForObjectDetection'),
    'mm_grounding_dino': lambda: _dino(
        'MMGroundingDinoConfig', 'MMGroundingDinoForObjectDetection'
    ),
    'owlv2': _owlv2,
    'sam': _sam,
    'sam2': _sam2,
    'instructblip': _instructblip,
    'florence2': _florence2,
}
